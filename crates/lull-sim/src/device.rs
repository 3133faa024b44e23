//! Models of devices: how long a request takes, and in which order requests are taken.
//!
//! | device | module | what it models |
//! |---|---|---|
//! | `server` | here | an ideal server of one or more places; for theory and recorded traces |
//! | `disk` | [`disk`] | one arm: C-LOOK, seek over a distance, rotation |
//! | `ssd` | [`ssd`] | channels that work side by side, and slow each other down |
//! | `link` | [`link`] | rate, delay, a queue of limited length |
//! | `cpu` | [`cpu`] | one core: quantum, context switch, reloading the cache |
//!
//! A device answers two questions: which of the waiting requests comes next ([`Device::pick`]), and what serving one takes
//! ([`Device::serve`]). The rest (queues per class, the policy) is the station's.

pub mod cpu;
pub mod disk;
pub mod link;
pub mod ssd;

use std::collections::VecDeque;

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::span::{Random, Span, nanos};
use cpu::Cpu;
use disk::Disk;
use link::Link;
use ssd::Ssd;

/// A request on its way through a station.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Who waits for it.
    pub client: u32,
    /// Whose it is.
    pub class: Class,
    /// Where on the device, in bytes.
    pub offset: u64,
    /// How much it moves.
    pub bytes: u64,
    /// Time it needs, where the client says so (CPU work, recorded service).
    pub work: Option<Nanos>,
    /// When it arrived at the station.
    pub arrived: Nanos,
    /// Whether background was in service then.
    pub loaded: bool,
    /// Whether it is foreground and no other foreground was in service then.
    pub head: bool,
}

/// What serving a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// How long it holds its place in the device.
    pub busy: Nanos,
    /// How long after that the client learns of it (propagation).
    pub after: Nanos,
    /// Work that is left when the place is given up (a CPU quantum has ended).
    pub left: Nanos,
}

/// An ideal server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Requests served at once.
    #[serde(default = "one")]
    pub slots: u32,
    /// Time per foreground request, unless the client brings its own.
    pub foreground: Span,
    /// Time per background request, unless the client brings its own.
    pub background: Span,
    /// By how much each other request in service slows one down: 0 not at all, 1 by all of its time.
    #[serde(default)]
    pub drag: f64,
}

fn one() -> u32 {
    1
}

/// One of the models.
#[derive(Clone, Debug)]
pub enum Device {
    /// An ideal server.
    Server(Server),
    /// A spinning disk.
    Disk(Disk),
    /// A solid-state disk.
    Ssd(Ssd),
    /// A network link.
    Link(Link),
    /// A processor core.
    Cpu(Cpu),
}

impl Device {
    /// How many requests it serves at once.
    pub fn slots(&self) -> u32 {
        match self {
            Self::Server(server) => server.slots.max(1),
            Self::Disk(_) | Self::Link(_) | Self::Cpu(_) => 1,
            Self::Ssd(ssd) => ssd.queue_depth(),
        }
    }

    /// How many bytes it holds; requests lie anywhere below.
    pub fn capacity(&self) -> u64 {
        match self {
            Self::Disk(disk) => disk.capacity(),
            Self::Ssd(ssd) => ssd.capacity(),
            Self::Server(_) | Self::Link(_) | Self::Cpu(_) => 1 << 30,
        }
    }

    /// How many foreground requests may wait; more are lost.
    pub fn queue_limit(&self) -> usize {
        match self {
            Self::Link(link) => link.queue(),
            _ => usize::MAX,
        }
    }

    /// Whether it says of itself that it rotates.
    pub fn rotates(&self) -> bool {
        matches!(self, Self::Disk(_))
    }

    /// Which of `waiting` is served next; 0 if it does not matter.
    pub fn pick(&self, waiting: &VecDeque<Request>) -> usize {
        match self {
            Self::Disk(disk) if waiting.len() > 1 => disk.c_look(waiting),
            _ => 0,
        }
    }

    /// Begins to serve `request` beside `others`.
    pub fn serve(&mut self, now: Nanos, request: &Request, others: u32, random: &mut Random) -> Service {
        match self {
            Self::Server(server) => {
                let span =
                    if request.class == Class::Foreground { server.foreground } else { server.background };
                let alone = request.work.unwrap_or_else(|| random.draw(span));
                let busy = if server.drag == 0.0 {
                    alone
                } else {
                    nanos(alone.0 as f64 * (1.0 + server.drag * f64::from(others)))
                };
                Service { busy, after: Nanos::ZERO, left: Nanos::ZERO }
            }
            Self::Disk(disk) => disk.serve(now, request, random),
            Self::Ssd(ssd) => ssd.serve(now, request, random),
            Self::Link(link) => link.serve(request),
            Self::Cpu(cpu) => cpu.serve(request),
        }
    }
}

#[cfg(test)]
mod tests;
