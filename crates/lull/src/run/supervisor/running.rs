//! The supervisor's loop: what is decided, done and told while the job runs.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

use lull_bpf::Restart;
use lull_core::Nanos;
use lull_linux::clock;
use lull_linux::marks::sessions::Sessions;
use lull_linux::marks::{First, IoClass, Plain, come_first};
use lull_linux::seccomp::Listener;

use super::front_channel::FrontChannel;
use super::sleep::Sleep;
use super::summary::{Times, is_starved, summary};
use crate::run::messages::{FromSupervisor, ToSupervisor};
use crate::run::net::queues::Queues;
use crate::run::release::Wishes;
use crate::run::settings::RunSettings;
use lull_engine::engine::Engine;
use lull_engine::hold_gate::HoldGate;
use lull_engine::job_processes::JobProcesses;
use lull_engine::lock::lock;
use lull_engine::nudge::Nudge;

/// How often sessions that the job has begun are looked for.
const SESSIONS_EVERY: Nanos = Nanos::from_secs(1);
/// How often to look whether the job's last process is gone, once its first is.
const GROUP_CHECK: Nanos = Nanos::from_millis(200);

/// A run whose job is watched.
pub(crate) struct Running {
    pub(crate) settings: RunSettings,
    pub(crate) front: FrontChannel,
    pub(crate) engine: Arc<Mutex<Engine>>,
    pub(crate) hold: HoldGate,
    pub(crate) job_processes: JobProcesses,
    pub(crate) nudge: Arc<Nudge>,
    pub(crate) listener: Option<Arc<Listener>>,
    /// Lets trapped calls begin again after a signal, while it is there.
    pub(crate) _restart: Option<Restart>,
    /// No task is left under the filter.
    pub(crate) gone: Arc<AtomicBool>,
    /// What the job has instead of the idle class.
    pub(crate) io_class: IoClass,
    /// The marks that this process was born with.
    pub(crate) plain: Plain,
    /// Sessions that would weigh as much as the user's, and when they were last lowered.
    pub(crate) sessions: Option<(Sessions, Nanos)>,
    pub(crate) queues: Queues,
    pub(crate) wishes: Wishes,
    /// Whether the command has ended, for whoever asks by another thread.
    pub(crate) has_ended: Arc<AtomicBool>,
    pub(crate) times: Times,
    /// What observes the disks, for the summary.
    pub(crate) sensor: &'static str,
    pub(crate) status_every: Option<Nanos>,
    /// When the front was last told, and for how long the job was starved and what it had used by then.
    pub(crate) told: Nanos,
    pub(crate) cpu_so_far: [Nanos; 2],
    pub(crate) has_begun: bool,
    pub(crate) job_ended: bool,
    pub(crate) front_gone: bool,
}

/// Why the loop has ended.
pub(crate) enum Ending {
    /// The job is gone.
    Over,
    /// What the command has left behind is foreground from now on; who is to be told how many processes that were.
    LetGo(Option<SyncSender<usize>>),
}

impl Running {
    /// Goes round until there is nothing left to watch.
    pub(crate) fn run(&mut self) -> Ending {
        let mut sleep = Sleep::default();
        loop {
            let now = clock::now();
            let (next, first) = self.decide(now);
            self.lower_sessions(now);
            self.tell_status(now);
            let had_begun = self.has_begun;
            if sleep.is_ready(self.front.as_raw_fd()) {
                self.hear_front();
            }
            if let Some(ending) = self.ending(now) {
                return ending;
            }
            // The job may have to be held at once.
            let begins = (self.has_begun && !had_begun).then_some(now);
            let next = [next, begins, self.next_status(), self.next_look_at_group(now)];
            self.sleep(&mut sleep, next.into_iter().flatten().min());
            drop(first);
        }
    }

    /// Gives the resources their turns, and holds the job or lets it go. Returns when to decide again at the latest, and what makes
    /// this thread come first, if the job was let go.
    fn decide(&mut self, now: Nanos) -> (Option<Nanos>, Option<First>) {
        let mut engine = lock(&self.engine);
        let next = engine.turn(now);
        let is_held = self.has_begun && engine.wants_held(now);
        let first = (self.hold.is_held() && !is_held).then(come_first).flatten();
        self.hold.set(now, is_held);
        engine.tend(now);
        self.front.take_in(engine.news());
        (next, first)
    }

    fn lower_sessions(&mut self, now: Nanos) {
        if let Some((sessions, lowered)) = &mut self.sessions
            && now.since(*lowered) >= SESSIONS_EVERY
        {
            *lowered = now;
            sessions.lower(&self.job_processes.pids());
        }
    }

    fn tell_status(&mut self, now: Nanos) {
        if self.status_every.is_none_or(|every| now.since(self.told) < every) {
            return;
        }
        let span = now.since(std::mem::replace(&mut self.told, now));
        let mut status = lock(&self.engine).status(now, self.times.began);
        status.held = self.hold.is_held();
        let so_far = [self.starved(now), self.job_processes.cpu_time()].map(Option::unwrap_or_default);
        status.starved = is_starved(span, std::mem::replace(&mut self.cpu_so_far, so_far), so_far);
        self.front.tell(&FromSupervisor::Status(Box::new(status)));
    }

    fn next_status(&self) -> Option<Nanos> {
        self.status_every.filter(|_| !self.front_gone).map(|every| self.told.plus(every))
    }

    /// For how long the job wanted a CPU and had none. For the kernel, who is held by a quota is starved.
    fn starved(&self, now: Nanos) -> Option<Nanos> {
        self.job_processes.starved_of_cpu().map(|starved| starved.since(self.hold.total_by_quota(now)))
    }

    fn hear_front(&mut self) {
        loop {
            match self.front.hear() {
                Ok(Some(message)) => self.take(&message),
                Ok(None) => return,
                Err(_) => {
                    self.front_gone = true;
                    return;
                }
            }
        }
    }

    fn take(&mut self, message: &ToSupervisor) {
        match message {
            ToSupervisor::Begun => self.has_begun = true,
            ToSupervisor::JobEnded => self.job_ended = true,
            ToSupervisor::Listener | ToSupervisor::NoListener(_) => {}
        }
        if self.job_ended {
            self.sum_up();
        }
    }

    /// The command has ended: tells the front what became of it.
    fn sum_up(&mut self) {
        let mut engine = lock(&self.engine);
        // What lives on in the group goes on reading.
        if self.hold.is_empty() {
            engine.settle();
        }
        self.front.take_in(engine.news());
        let now = clock::now();
        let report = engine.report(now);
        drop(engine);
        let starved = self.starved(now);
        let summary =
            summary(report, &self.settings, &self.front, &self.hold, (self.sensor, self.times, now), starved);
        self.front.tell(&FromSupervisor::Summary(Box::new(summary)));
    }

    /// Whether to end, and how.
    fn ending(&self, now: Nanos) -> Option<Ending> {
        let is_ending = self.job_ended || self.front_gone;
        self.has_ended.store(is_ending, Ordering::SeqCst);
        if is_ending && self.is_job_gone() && lock(&self.engine).is_done(now) {
            return Some(Ending::Over);
        }
        let wish = self.wishes.take();
        let lets_go = is_ending && self.settings.asked.holding.release_leftovers && !self.hold.is_empty();
        (wish.is_some() || lets_go).then_some(Ending::LetGo(wish))
    }

    /// Whether the job's last process is. The filter's last task may still be on its way out of the group. Before Linux 6.11 the gate
    /// thread's wait does not end with the job.
    fn is_job_gone(&self) -> bool {
        let untrapped = |listener: &Arc<Listener>| self.gone.load(Ordering::SeqCst) || listener.is_hung_up();
        // Without a filter and without a group, what the first process has left behind is found by its descent.
        let is_alone = || self.job_processes.pids().is_empty();
        self.listener.as_ref().map_or_else(is_alone, untrapped) && self.hold.is_empty()
    }

    fn next_look_at_group(&self, now: Nanos) -> Option<Nanos> {
        (self.job_ended || self.front_gone).then(|| now.plus(GROUP_CHECK))
    }

    fn sleep(&self, sleep: &mut Sleep, until: Option<Nanos>) {
        let front = (!self.front_gone).then(|| self.front.as_raw_fd());
        let sensors = lock(&self.engine).wake_fds();
        sleep.until([self.nudge.as_raw_fd()].into_iter().chain(front).chain(sensors), until);
        if sleep.is_ready(self.nudge.as_raw_fd()) {
            self.nudge.take();
        }
        lock(&self.engine).drain(|fd| sleep.is_ready(fd));
    }
}
