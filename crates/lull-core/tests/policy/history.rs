//! A device's history, and what a sensor would show of it. Each request has the least size.

use lull_core::{ClassView, LEAST_BYTES, Nanos, Observation};

/// What happened in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceEvent {
    pub(crate) at: Nanos,
    pub(crate) background: bool,
    pub(crate) start: bool,
}

/// What the sensor shows after `event`.
pub(crate) fn apply(view: &mut Observation, event: DeviceEvent) {
    let class: &mut ClassView = if event.background { &mut view.background } else { &mut view.foreground };
    if event.start {
        class.in_service += 1;
        class.started += 1;
        class.last_start = event.at;
        class.started_bytes += LEAST_BYTES;
        class.in_service_bytes += LEAST_BYTES;
    } else {
        class.in_service -= 1;
        class.ended += 1;
        class.last_end = event.at;
        class.in_service_bytes -= LEAST_BYTES;
    }
}

/// Whether `event` can happen next: nothing ends that is not in service.
pub(crate) fn possible(view: &Observation, background: bool, start: bool) -> bool {
    start || if background { view.background.in_service > 0 } else { view.foreground.in_service > 0 }
}

/// All moments around which the state may change: each instant, and an interval after it.
pub(crate) fn moments(from: Nanos, span: u64) -> impl Iterator<Item = Nanos> {
    (0..=span).map(move |offset| from.plus(Nanos(offset)))
}
