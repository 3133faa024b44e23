//! Beginnings and ends of requests, paired by device and sector.
//!
//! Tracers write a line when a request is queued, one when the device gets it and one when the device is done. A
//! request counts from its queueing, if that was seen, to its end; one of which the device was never told (a page
//! of another request: merged) is not one.

use std::collections::HashMap;

use lull_core::Nanos;

use super::Builder;
use crate::class::Class;

/// What a line says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It waits before the device.
    Queued,
    /// The device has it.
    Issued,
    /// It became a part of another request.
    Merged,
    /// The device is done.
    Completed,
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening<'a> {
    pub(super) at: Nanos,
    pub(super) step: Step,
    pub(super) device: &'a str,
    pub(super) sector: u64,
    pub(super) bytes: u64,
    pub(super) class: Class,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    arrival: Nanos,
    issued: bool,
    class: Class,
    bytes: u64,
}

/// Requests under way.
pub(super) struct Pairs {
    builder: Builder,
    open: HashMap<(String, u64), Open>,
}

impl Pairs {
    pub(super) fn new(builder: Builder) -> Self {
        Self { builder, open: HashMap::new() }
    }

    pub(super) fn take(&mut self, happening: &Happening<'_>) {
        let Happening { at, step, device, sector, bytes, class } = *happening;
        let key = (device.to_owned(), sector);
        match step {
            Step::Queued => {
                self.open.insert(key, Open { arrival: at, issued: false, class, bytes });
            }
            Step::Issued => {
                let open = self.open.entry(key).or_insert(Open { arrival: at, issued: true, class, bytes });
                open.issued = true;
                open.bytes = bytes;
                // Both lines name who they think it is: the one that knows of the idle class is right.
                open.class = open.class.max(class);
            }
            Step::Merged => {
                self.open.remove(&key);
            }
            Step::Completed => match self.open.remove(&key) {
                Some(open) if open.issued => {
                    self.builder.add(open.arrival, at, open.class, open.bytes, device);
                }
                _ => self.builder.trace.unmatched += 1,
            },
        }
    }

    pub(super) fn finish(mut self) -> Builder {
        let open = self.open.values().filter(|open| open.issued).count();
        self.builder.trace.unmatched += open as u64;
        self.builder
    }
}
