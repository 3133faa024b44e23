//! What a resource is to the engine: something that foreground and job share, and that is lent to the job in the gaps.
//!
//! ```text
//!              ┌─ turn ───▶ each resource looks, decides, acts ──▶ when to look again
//!   engine ────┼─ follow ─▶ … and acts on whether the job is held, which is known by now
//!              └─ tend ───▶ … and does what can wait until the job was held or let go
//! ```
//!
//! Everything else has a default: a resource says what it has. To add one, implement this in a folder of its own and register it where the
//! others are.

use std::os::fd::RawFd;

use lull_core::Nanos;
use lull_linux::seccomp::Trap;

use crate::promise::Account;
use crate::report::Report;
use crate::report::status::Status;

/// Verdict on a trapped call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it go on now.
    Pass,
    /// A later turn passes it.
    Wait,
    /// It fails as if the kernel did not have it.
    Absent,
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// At the end.
    Note(String),
    /// Now, and at the end.
    Told(String),
    /// At the end, as something that was asked for and cannot be had.
    Unmet(String),
}

/// See the module.
pub trait Resource: Send {
    /// Does what is due; returns when to look again at the latest. `was_held`: the job was held until now, on whoever's behalf.
    fn turn(&mut self, now: Nanos, was_held: bool) -> Option<Nanos>;

    /// Goes on when every resource has had its turn: the job is held from now on, or not.
    fn follow(&mut self, _now: Nanos, _is_held: bool) -> Option<Nanos> {
        None
    }

    /// Does what can wait until the job was held or let go.
    fn tend(&mut self, _now: Nanos) {}

    /// Whether the job has to be held for this resource's sake.
    fn wants_hold(&self) -> bool {
        false
    }

    /// Where the foreground's losses are measured; always the same ones in the same order, new ones last.
    fn accounts(&mut self) -> Vec<&mut dyn Account> {
        Vec::new()
    }

    /// Decides about a trapped call that uses no disk, if it is this resource's.
    fn on_call(&mut self, _trap: &Trap) -> Option<Verdict> {
        None
    }

    /// What a person should know since the last time.
    fn news(&mut self) -> Vec<News> {
        Vec::new()
    }

    /// Polls readable when the sensor has woken the loop; -1 without.
    fn wake_fd(&self) -> RawFd {
        -1
    }

    /// Takes all wake-ups that are there.
    fn drain(&self) {}

    /// Its part of the status line.
    fn status(&self, _now: Nanos, _status: &mut Status) {}

    /// Its part of what is told at the end.
    fn report(&self, _now: Nanos, _report: &mut Report) {}

    /// The job has ended, and nothing of it is left: gives back what is the foreground's.
    fn settle(&mut self) {}

    /// Whether nothing is left to be done for a job that has ended.
    fn is_done(&mut self, _now: Nanos) -> bool {
        true
    }

    /// Lets the job go for good.
    fn end(&mut self, _now: Nanos) {}
}

/// The sooner of two times.
pub(crate) fn sooner(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    one.into_iter().chain(other).min()
}
