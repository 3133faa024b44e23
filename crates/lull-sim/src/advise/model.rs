//! How the device of a trace serves requests: one at a time, or several that slow each other down.
//!
//! A foreground request that found k others in service takes `alone × (1 + drag × k)`. The drag follows from the mean latencies
//! of those that found none and of those that found some. On a device that serves one at a time, each other request
//! in service costs at least half a service: a drag of [`SERIAL`] or more is taken for one place. A trace in which
//! hardly anything overlaps cannot tell; one place is assumed, the choice that protects the foreground.

use lull_core::Nanos;

use crate::class::Class;
use crate::trace::Traced;
use crate::workload::{Group, Recorded};

/// From this drag on the device serves one request at a time.
const SERIAL: f64 = 0.5;
/// Overlapping requests needed to tell.
const FEW: usize = 20;
/// Places of a device that serves several: more than are ever used here.
const PARALLEL_SLOTS: u32 = 64;

/// What the trace says of its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Model {
    pub(super) slots: u32,
    pub(super) drag: f64,
    /// Median time of a foreground request that found nothing in service.
    pub(super) foreground: Nanos,
    /// Mean time of a background request in service.
    pub(super) background: Option<Nanos>,
}

impl Model {
    /// `requests` are those of one device, in the order of their arrival.
    pub(super) fn estimate(requests: &[Traced], notes: &mut Vec<String>) -> Self {
        let others = in_service_at_arrival(requests);
        let latency = |request: &Traced| request.end.since(request.arrival).0 as f64;
        let (mut quiet, mut loaded, mut met) = (Vec::new(), Vec::new(), 0.0);
        for (request, others) in requests.iter().zip(&others) {
            if request.class == Class::Foreground {
                if *others == 0 {
                    quiet.push(latency(request));
                } else {
                    loaded.push(latency(request));
                    met += *others as f64;
                }
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let drag = if loaded.len() >= FEW && quiet.len() >= FEW {
            Some(((mean(&loaded) / mean(&quiet).max(1.0) - 1.0) / (met / loaded.len() as f64)).max(0.0))
        } else {
            notes.push(
                "hardly any requests overlap: the device is taken to serve one at a time, which may be too careful".to_owned(),
            );
            None
        };
        let parallel = drag.is_some_and(|drag| drag < SERIAL);
        let mut typical = if quiet.is_empty() { loaded } else { quiet };
        typical.sort_by(f64::total_cmp);
        let median = typical.get(typical.len() / 2).copied().unwrap_or(0.0);
        let served = services(requests, parallel);
        let background: Vec<f64> = requests
            .iter()
            .zip(&served)
            .filter(|(request, _)| request.class == Class::Background)
            .map(|(_, served)| served.0 as f64)
            .collect();
        Self {
            slots: if parallel { PARALLEL_SLOTS } else { 1 },
            drag: if parallel { drag.unwrap_or(0.0) } else { 0.0 },
            foreground: crate::span::nanos(median).max(Nanos(1)),
            background: (!background.is_empty()).then(|| crate::span::nanos(mean(&background)).max(Nanos(1))),
        }
    }
}

/// How many others were in service when each request arrived.
fn in_service_at_arrival(requests: &[Traced]) -> Vec<usize> {
    let mut ends: std::collections::BinaryHeap<std::cmp::Reverse<Nanos>> =
        std::collections::BinaryHeap::new();
    let mut counts = Vec::with_capacity(requests.len());
    for request in requests {
        while ends.peek().is_some_and(|end| end.0 <= request.arrival) {
            ends.pop();
        }
        counts.push(ends.len());
        ends.push(std::cmp::Reverse(request.end));
    }
    counts
}

/// How long the device worked for each: on one that serves one at a time, since the end of the one before.
fn services(requests: &[Traced], parallel: bool) -> Vec<Nanos> {
    if parallel {
        return requests.iter().map(|request| request.end.since(request.arrival).max(Nanos(1))).collect();
    }
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|index| requests[*index].end);
    let mut services = vec![Nanos(1); requests.len()];
    let mut before = Nanos::ZERO;
    for index in order {
        let request = &requests[index];
        services[index] = request.end.since(request.arrival.max(before)).max(Nanos(1));
        before = request.end;
    }
    services
}

/// The foreground's requests in groups that overlap, with the gaps before them.
pub(super) fn groups(requests: &[Traced], model: &Model) -> Vec<Group> {
    let parallel = model.slots > 1;
    let services = services(requests, parallel);
    let mut groups: Vec<Group> = Vec::new();
    let (mut began, mut busy_until) = (Nanos::ZERO, Nanos::ZERO);
    for (request, service) in requests.iter().zip(services) {
        if request.class != Class::Foreground {
            continue;
        }
        let work = if parallel {
            // What the replay slows down again must not be slowed down twice.
            service.min(model.foreground.times(4))
        } else {
            service
        };
        let (arrival, bytes) = (request.arrival, request.bytes);
        match groups.last_mut() {
            Some(group) if arrival < busy_until => {
                group.requests.push(Recorded { offset: arrival.since(began), work, bytes });
            }
            _ => {
                let gap = if groups.is_empty() { Nanos::ZERO } else { arrival.since(busy_until) };
                began = arrival;
                groups.push(Group { gap, requests: vec![Recorded { offset: Nanos::ZERO, work, bytes }] });
            }
        }
        busy_until = busy_until.max(request.end);
    }
    groups
}
