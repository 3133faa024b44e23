//! Counts a foreground's requests with and without background apart, by the beat in which they arrive.

use std::collections::BTreeMap;

use lull_core::Nanos;

use super::latency::Recorder;
use super::{BeatBursts, LoadReport};
use crate::beats::{Beat, Beats};

/// What a foreground counted.
#[derive(Clone, Debug)]
pub struct Arms {
    beats: Option<Beats>,
    loaded: Arm,
    quiet: Arm,
    burst: Option<Burst>,
}

/// What it counted in beats of one kind.
#[derive(Clone, Debug, Default)]
struct Arm {
    latencies: Recorder,
    busy: Nanos,
    unfinished: u64,
    carried: u64,
    /// Number and time of bursts by pair of beats; all in one without beats.
    bursts: BTreeMap<u64, (u64, Nanos)>,
}

/// Requests without a pause between them.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Arrival of the first.
    from: Nanos,
    /// End of the latest.
    to: Nanos,
    /// Whether one of them arrived in a loaded beat.
    is_loaded: bool,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// When it was due.
    pub arrival: Nanos,
    /// When its work began.
    pub from: Nanos,
    /// When its work ended.
    pub to: Nanos,
    /// Whether it was given up.
    pub given_up: bool,
}

impl Arms {
    /// Without beats everything is loaded.
    pub fn new(beats: Option<Beats>) -> Self {
        Self { beats, loaded: Arm::default(), quiet: Arm::default(), burst: None }
    }

    fn at(&mut self, arrival: Nanos) -> Option<&mut Arm> {
        match self.beats.map_or(Some(Beat::Loaded), |beats| beats.counted(arrival))? {
            Beat::Loaded => Some(&mut self.loaded),
            Beat::Quiet => Some(&mut self.quiet),
        }
    }

    /// Counts one request, in the order in which they end.
    pub fn record(&mut self, served: &Served) {
        let is_loaded = self.beats.is_some_and(|beats| beats.at(served.arrival) == Beat::Loaded);
        let mut is_carried = false;
        match &mut self.burst {
            Some(burst) if served.arrival <= burst.to => {
                // Work that merely follows, as that of a closed loop does, did not wait.
                is_carried = !is_loaded && burst.is_loaded && served.arrival < burst.to;
                burst.to = served.to;
                burst.is_loaded |= is_loaded;
            }
            _ => {
                self.end_burst();
                self.burst = Some(Burst { from: served.arrival, to: served.to, is_loaded });
            }
        }
        let Some(arm) = self.at(served.arrival) else { return };
        arm.carried += u64::from(is_carried);
        arm.latencies.record(served.to.since(served.arrival));
        arm.busy = arm.busy.plus(served.to.since(served.from));
        arm.unfinished += u64::from(served.given_up);
    }

    fn end_burst(&mut self) {
        let Some(burst) = self.burst.take() else { return };
        let pair = self.beats.map_or(0, |beats| beats.pair(burst.from));
        if let Some(arm) = self.at(burst.from) {
            arm.add_bursts(pair, 1, burst.to.since(burst.from));
        }
    }

    /// Counts what another thread of the same foreground counted.
    pub fn merge(&mut self, mut other: Self) {
        other.end_burst();
        self.loaded.merge(&other.loaded);
        self.quiet.merge(&other.quiet);
    }

    /// The counts: those of loaded beats, with those of quiet ones inside.
    pub fn report(mut self, load: &str, begun: Nanos, ended: Nanos) -> LoadReport {
        self.end_burst();
        let loaded = self.beats.map(|beats| beats.loaded(begun, ended));
        let quiet =
            loaded.map(|loaded| self.quiet.report(load, begun, ended, ended.since(begun).since(loaded)));
        let whole = loaded.unwrap_or_else(|| ended.since(begun));
        let mut report =
            LoadReport { quiet: quiet.map(Box::new), ..self.loaded.report(load, begun, ended, whole) };
        if self.beats.is_none() {
            report.beats.clear();
        }
        report
    }
}

impl Arm {
    fn add_bursts(&mut self, pair: u64, bursts: u64, time: Nanos) {
        let sum = self.bursts.entry(pair).or_default();
        *sum = (sum.0 + bursts, sum.1.plus(time));
    }

    fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.busy = self.busy.plus(other.busy);
        self.unfinished += other.unfinished;
        self.carried += other.carried;
        other.bursts.iter().for_each(|(pair, (bursts, time))| self.add_bursts(*pair, *bursts, *time));
    }

    fn report(&self, load: &str, begun: Nanos, ended: Nanos, counted: Nanos) -> LoadReport {
        let by_pair = self.bursts.iter();
        let beats: Vec<BeatBursts> = by_pair
            .map(|(pair, (bursts, time))| BeatBursts {
                pair: *pair,
                bursts: *bursts,
                burst_ns: time.as_nanos(),
            })
            .collect();
        LoadReport {
            unfinished: self.unfinished,
            carried: self.carried,
            seconds: counted.as_secs_f64(),
            busy_ns: self.busy.as_nanos(),
            bursts: beats.iter().map(|beat| beat.bursts).sum(),
            burst_ns: beats.iter().map(|beat| beat.burst_ns).sum(),
            beats,
            ..LoadReport::timed(load, &self.latencies, [begun, ended])
        }
    }
}

#[cfg(test)]
mod tests;
