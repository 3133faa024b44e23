//! What a perfect sensor knows of a station: the views of both classes and the histograms that control needs.
//!
//! It counts as the kernel programs do: a request is in service from its arrival at the device's queue to its end. With the
//! start rule *request* the interval begins when the scheduler hands a request to the device (section 3.3 of the paper),
//! so the latest start is that of the handing over, if that came after the arrival.

use lull_core::{ClassView, Latency, Nanos, Observation, RECENTLY, Telemetry};

use crate::class::Class;
use crate::device::Request;

/// The views and histograms of one station.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sensor {
    pub(crate) view: Observation,
    /// Apart: ten kilobytes of histograms would scatter what each event touches over many pages.
    pub(crate) telemetry: Box<Telemetry>,
    /// Whether anybody looks at the histograms: they are better left alone otherwise.
    pub(crate) is_read: bool,
}

impl Sensor {
    fn class(&mut self, class: Class) -> &mut ClassView {
        match class {
            Class::Foreground => &mut self.view.foreground,
            Class::Background => &mut self.view.background,
        }
    }

    /// Whether a request that arrives now meets background, or follows it closely.
    pub(crate) fn meets_background(&self, now: Nanos) -> bool {
        let background = &self.view.background;
        background.in_service > 0 || (background.ended > 0 && now.since(background.last_end) < RECENTLY)
    }

    pub(crate) fn arrives(&mut self, now: Nanos, class: Class, bytes: u64) {
        let foreground = &self.view.foreground;
        if self.is_read && class == Class::Foreground && foreground.in_service == 0 && foreground.ended > 0 {
            self.telemetry.gaps.record(now.since(foreground.last_end));
        }
        let view = self.class(class);
        view.in_service += 1;
        view.started += 1;
        view.last_start = now;
        view.started_bytes += bytes;
        view.in_service_bytes += bytes;
    }

    pub(crate) fn is_handed_over(&mut self, now: Nanos, class: Class) {
        self.class(class).last_start = now;
    }

    pub(crate) fn ends(&mut self, now: Nanos, request: &Request) {
        self.leaves(now, request.class, request.bytes);
        if !self.is_read {
            return;
        }
        let latency = now.since(request.arrived);
        let telemetry = &mut self.telemetry;
        if request.head {
            let heads = &mut telemetry.heads;
            if request.loaded { &mut heads.loaded } else { &mut heads.quiet }.record(latency);
        }
        match request.class {
            Class::Background => telemetry.service.record(latency),
            Class::Foreground if request.loaded => telemetry.loaded.record(latency),
            Class::Foreground => telemetry.quiet.record(latency),
        }
    }

    /// A request is over, without a word of how long it took.
    pub(crate) fn leaves(&mut self, now: Nanos, class: Class, bytes: u64) {
        let view = self.class(class);
        view.in_service = view.in_service.saturating_sub(1);
        view.ended += 1;
        view.last_end = now;
        view.in_service_bytes = view.in_service_bytes.saturating_sub(bytes);
    }

    /// The histograms with the counts of now.
    pub(crate) fn telemetry(&mut self, rotational: bool, is_full: bool) -> &Telemetry {
        self.telemetry.foreground_last_end = self.view.foreground.last_end;
        self.telemetry.foreground_started = self.view.foreground.started;
        self.telemetry.background_started = self.view.background.started;
        self.telemetry.background_bytes = self.view.background.started_bytes;
        self.telemetry.rotational = rotational;
        self.telemetry.is_full = is_full;
        &self.telemetry
    }

    /// What the audit asks for.
    pub(crate) fn latency(&self) -> Latency {
        let (quiet, loaded) = (&self.telemetry.quiet, &self.telemetry.loaded);
        Latency {
            requests: quiet.count() + loaded.count(),
            met: loaded.count(),
            sum_ns: quiet.sum_ns + loaded.sum_ns,
            background: self.view.background.started,
        }
    }
}
