//! The latest view of a resource, made safe against sensors that restart and clocks that disagree.
//!
//! A view whose counts are lower than before is from a restarted sensor: its counts are taken as they are, and no
//! event is inferred from the difference. The times of the last foreground request survive, since the restart did
//! not undo it. A time in the future is taken for the moment at which it was first read, and stays so until the
//! sensor shows another one. Foreground that is gone without an end since its last arrival has just ended: the sensor
//! missed it, and the interval must not be missed with it.

use crate::base::time::Nanos;
use crate::base::view::{ClassView, Observation};
use crate::idletime::derive::foreground_from;
use crate::idletime::setting::Setting;

#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// As the sensor gave it.
    raw: Observation,
    /// As the policy uses it.
    view: Observation,
    /// The foreground's times before the latest view.
    before: ClassView,
}

/// What happened between two views.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) background_starts: u64,
    pub(super) background_ended: bool,
    /// The last background end came after the last foreground arrival.
    pub(super) background_outlived_foreground: bool,
    pub(super) foreground_starts: u64,
    /// When the first of these arrived, if known.
    pub(super) foreground_first: Option<Nanos>,
}

impl Track {
    pub(super) fn view(&self) -> &Observation {
        &self.view
    }

    /// The last moment at which the foreground is known to have been here; `None` if it was never seen.
    pub(super) fn foreground_latest(&self) -> Option<Nanos> {
        let view = &self.view.foreground;
        let latest = view.last_start.max(view.last_end);
        (latest > Nanos::ZERO || view.started > 0 || view.ended > 0).then_some(latest)
    }

    /// The start of the foreground's interval as it was before the latest view.
    pub(super) fn interval_before(&self, setting: &Setting) -> Nanos {
        foreground_from(&self.before, setting.start_rule)
    }

    /// How many background requests have started since the latest view, and their bytes; none if the sensor has restarted.
    pub(super) fn background_starts(&self, raw: &Observation) -> (u64, u64) {
        let (new, old) = (&raw.background, &self.view.background);
        match self.restarted(raw) {
            true => (0, 0),
            false => (new.started - old.started, new.started_bytes.saturating_sub(old.started_bytes)),
        }
    }

    fn restarted(&self, raw: &Observation) -> bool {
        let backward = |new: &ClassView, old: &ClassView| new.started < old.started || new.ended < old.ended;
        backward(&raw.foreground, &self.view.foreground) || backward(&raw.background, &self.view.background)
    }

    pub(super) fn observe(&mut self, now: Nanos, raw: &Observation) -> Seen {
        let restarted = self.restarted(raw);
        let mut view = Observation {
            foreground: clamp(now, &raw.foreground, &self.raw.foreground, &self.view.foreground),
            background: clamp(now, &raw.background, &self.raw.background, &self.view.background),
        };
        self.raw = *raw;
        let foreground = &mut view.foreground;
        if foreground.in_service == 0 && foreground.last_end < foreground.last_start {
            foreground.last_end = now;
        }
        let old = std::mem::replace(&mut self.view, view);
        self.before = old.foreground;
        if restarted {
            self.view.foreground.last_start = view.foreground.last_start.max(old.foreground.last_start);
            self.view.foreground.last_end = view.foreground.last_end.max(old.foreground.last_end);
            return Seen::default();
        }
        let appeared = u64::from(view.foreground.in_service > 0 && old.foreground.in_service == 0);
        let foreground_starts = (view.foreground.started - old.foreground.started).max(appeared);
        Seen {
            background_starts: view.background.started - old.background.started,
            background_ended: view.background.ended > old.background.ended,
            background_outlived_foreground: view.background.last_end > view.foreground.last_start,
            foreground_starts,
            foreground_first: (foreground_starts == 1).then_some(view.foreground.last_start),
        }
    }

    /// The clock stepped back to `now`.
    pub(super) fn rewind(&mut self, now: Nanos) {
        for class in [&mut self.view.foreground, &mut self.view.background] {
            class.last_start = class.last_start.min(now);
            class.last_end = class.last_end.min(now);
        }
    }
}

/// `raw` with times no later than `now`, or than their first reading.
fn clamp(now: Nanos, raw: &ClassView, old_raw: &ClassView, old: &ClassView) -> ClassView {
    let time = |raw: Nanos, old_raw: Nanos, old: Nanos| if raw == old_raw { old } else { raw.min(now) };
    ClassView {
        last_start: time(raw.last_start, old_raw.last_start, old.last_start),
        last_end: time(raw.last_end, old_raw.last_end, old.last_end),
        ..*raw
    }
}
