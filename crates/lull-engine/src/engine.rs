//! The live engine: all resources under one promise, and whether the job is held.
//!
//! Two threads call it, under one lock. The gate's *decider* asks [`Engine::on_trap`] about trapped calls that did not pass at once
//! ([`crate::request_gate`]). The *loop* thread calls [`Engine::turn`] when a sensor wakes it, when a time has come, and now
//! and then for control.
//!
//! The disks stand apart from the other resources, because their calls are the many: nobody is asked whose they are.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lull_core::{Loss, Nanos};
use lull_linux::seccomp::Trap;

use crate::disk::calls::Disks;
use crate::job_processes::JobProcesses;
use crate::promise::{Account, Promise};
use crate::report::Report;
use crate::report::status::Status;
use crate::resource::{News, Resource, Verdict, sooner};
use crate::signal_turn::{Look, SignalTurn};
use crate::signals;

const URING_REFUSED: &str = "the job asks for io_uring, which is hidden from it (ENOSYS): most programs then use other calls; --io-uring leaves it to them";
const LISTENER_REFUSED: &str = "the job wants to trap system calls itself (a seccomp listener, as sandboxes and containers use), which the kernel refuses beside lull's (EBUSY): use --gate none";
const TRACER_MISSES: &str = "a tracer brings a filter of its own into the job (strace --seccomp-bpf), past which it does not see the calls that lull traps: use --gate none, or strace without it";

/// What the job should be told of, once each.
#[derive(Default)]
struct Words {
    said: Vec<&'static str>,
    due: Vec<&'static str>,
}

impl Words {
    fn say(&mut self, word: &'static str) {
        if !self.said.contains(&word) {
            self.said.push(word);
            self.due.push(word);
        }
    }
}

/// See the module.
pub struct Engine {
    /// The disks, with the calls that wait for them.
    pub disks: Disks,
    others: Vec<Box<dyn Resource>>,
    /// What the foreground may lose, divided among the accounts of all resources.
    promise: Promise,
    /// Whether the whole job can be held.
    can_hold: bool,
    /// The machine is about to sleep: nothing is held.
    sleeps: Arc<AtomicBool>,
    words: Words,
    /// Wall time during which at least one call waited or the whole job was held.
    held_ns: u64,
    held_since: Option<Nanos>,
    job_processes: JobProcesses,
    signal_turn: SignalTurn,
}

impl Engine {
    /// Of the disks alone; `sleeps` is told them, too.
    pub fn new(
        disks: Disks,
        promise: Loss,
        can_hold: bool,
        job_processes: JobProcesses,
        sleeps: Arc<AtomicBool>,
    ) -> Self {
        Self {
            disks,
            others: Vec::new(),
            promise: Promise::new(promise),
            can_hold,
            sleeps,
            words: Words::default(),
            held_ns: 0,
            held_since: None,
            job_processes,
            signal_turn: SignalTurn::default(),
        }
    }

    /// One resource more, before the disks are watched or without accounts.
    pub fn register(&mut self, resource: impl Resource + 'static) {
        self.others.push(Box::new(resource));
    }

    fn resources(&self) -> impl Iterator<Item = &dyn Resource> {
        std::iter::once(&self.disks as &dyn Resource).chain(self.others.iter().map(|other| &**other))
    }

    fn resources_mut(&mut self) -> impl Iterator<Item = &mut dyn Resource> {
        let disks = &mut self.disks as &mut dyn Resource;
        std::iter::once(disks).chain(self.others.iter_mut().map(|other| &mut **other as &mut dyn Resource))
    }

    /// Whether something is yet to be told.
    pub fn has_words(&self) -> bool {
        !self.words.due.is_empty()
    }

    /// What a person should know since the last time.
    pub fn news(&mut self) -> Vec<News> {
        let mut news: Vec<News> = self.resources_mut().flat_map(|resource| resource.news()).collect();
        news.extend(std::mem::take(&mut self.words.due).into_iter().map(|word| News::Told(word.to_owned())));
        news
    }

    /// Wall time held so far, the present hold included.
    pub fn held(&self, now: Nanos) -> Nanos {
        Nanos(self.held_ns + self.held_since.map_or(0, |since| now.since(since).0))
    }

    /// Decides about a call that was just trapped.
    pub fn on_trap(&mut self, now: Nanos, trap: &Trap) -> Verdict {
        if trap.uses_a_disk() {
            let verdict = self.disks.on_trap(now, trap);
            if verdict == Verdict::Wait {
                self.held_since.get_or_insert(now);
            }
            return verdict;
        }
        match trap.nr {
            libc::SYS_seccomp | libc::SYS_prctl => {
                if trap.listens() {
                    // A lull within lull says so itself.
                    if !is_lull(trap.tid) {
                        self.words.say(LISTENER_REFUSED);
                    }
                } else if signals::is_traced(trap.tid) {
                    self.words.say(TRACER_MISSES);
                }
                Verdict::Pass
            }
            libc::SYS_io_uring_setup => {
                self.words.say(URING_REFUSED);
                Verdict::Absent
            }
            _ => self.others.iter_mut().find_map(|other| other.on_call(trap)).unwrap_or(Verdict::Pass),
        }
    }

    /// Gives every resource its turn, and says when to look again. Returns whether the job is to be held, too.
    pub fn turn(&mut self, now: Nanos) -> Option<Nanos> {
        let was_held = self.wants_held(now);
        let Self { disks, others, promise, .. } = self;
        promise.turn(now, &mut accounts(disks, others));
        let mut next = None;
        for resource in self.resources_mut() {
            next = sooner(next, resource.turn(now, was_held));
        }
        let is_held = self.wants_held(now);
        for resource in self.resources_mut() {
            next = sooner(next, resource.follow(now, is_held));
        }
        let is_held = self.wants_hold();
        next = sooner(next, self.signal_turn.turn(now, is_held, || Look::at(&self.job_processes)));
        let held = self.disks.waiting() > 0 || (is_held && !self.signal_turn.is_on(now));
        match (held, self.held_since) {
            (true, None) => self.held_since = Some(now),
            (false, Some(since)) => {
                self.held_ns += now.since(since).0;
                self.held_since = None;
            }
            _ => {}
        }
        next
    }

    /// Does what can wait until the job was held or let go.
    pub fn tend(&mut self, now: Nanos) {
        self.resources_mut().for_each(|resource| resource.tend(now));
    }

    /// Whether the job has to be held at `now`.
    pub fn wants_held(&self, now: Nanos) -> bool {
        self.wants_hold() && !self.signal_turn.is_on(now)
    }

    /// Whether some resource wants the job held.
    fn wants_hold(&self) -> bool {
        self.can_hold
            && self.resources().any(|resource| resource.wants_hold())
            && !self.sleeps.load(Ordering::Relaxed)
    }

    /// The descriptors by which sensors wake the loop.
    pub fn wake_fds(&self) -> Vec<RawFd> {
        self.resources().map(|resource| resource.wake_fd()).filter(|fd| *fd >= 0).collect()
    }

    /// Takes the wake-ups that have come.
    pub fn drain(&self, is_ready: impl Fn(RawFd) -> bool) {
        let woken = self.resources().filter(|resource| is_ready(resource.wake_fd()));
        woken.for_each(|resource| resource.drain());
    }

    /// What the status line shows of it.
    #[expect(clippy::cast_precision_loss, reason = "a share for a person")]
    pub fn status(&mut self, now: Nanos, began: Nanos) -> Status {
        let wall = now.since(began).0.max(1);
        let mut status =
            Status { active: 1.0 - self.held(now).0 as f64 / wall as f64, state: 'I', ..Status::default() };
        self.resources().for_each(|resource| resource.status(now, &mut status));
        let Self { disks, others, promise, .. } = self;
        status.lost = promise.summary(&accounts(disks, others)).map(|whole| whole.lost);
        status
    }

    /// What became of the run.
    pub fn report(&mut self, now: Nanos) -> Report {
        let mut report = Report { held_ns: self.held(now).0, ..Report::default() };
        self.resources().for_each(|resource| resource.report(now, &mut report));
        let Self { disks, others, promise, .. } = self;
        report.whole = promise.summary(&accounts(disks, others));
        report
    }

    /// The job has ended, and nothing of it is left.
    pub fn settle(&mut self) {
        self.resources_mut().for_each(|resource| resource.settle());
    }

    /// Whether nothing is left to be done for a job that has ended.
    pub fn is_done(&mut self, now: Nanos) -> bool {
        self.resources_mut().all(|resource| resource.is_done(now))
    }

    /// Lets the job go for good: the supervisor ends.
    pub fn end(&mut self, now: Nanos) {
        self.others.iter_mut().for_each(|other| other.end(now));
        self.disks.end(now);
    }

    /// Forgets the resources, which undo what they have left in force.
    pub fn forget(&mut self) {
        self.others.clear();
    }
}

/// Where losses are measured. The disks come last: they are the ones that are found late.
fn accounts<'a>(disks: &'a mut Disks, others: &'a mut [Box<dyn Resource>]) -> Vec<&'a mut dyn Account> {
    others.iter_mut().flat_map(|other| other.accounts()).chain(disks.accounts()).collect()
}

/// Whether the thread is on its way from a lull to that one's job.
fn is_lull(tid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{tid}/comm")).is_ok_and(|name| name.trim_end() == "lull")
}

#[cfg(test)]
mod tests;
