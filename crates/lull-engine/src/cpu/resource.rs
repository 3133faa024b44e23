//! The CPUs as a resource: from the wish to what lends them, and the job's questions about them.

use std::os::fd::RawFd;
use std::sync::Arc;

use lull_bpf::Protect;
use lull_core::{Loss, Nanos, Use};
use lull_linux::job::shared::Shared;
use lull_linux::seccomp::{Listener, Trap};

use super::affinity::Affinity;
use super::measure::UserMeasure;
use super::start::CpuStart;
use super::{Cpu, CpuAim};
use crate::job_processes::JobProcesses;
use crate::nudge::Nudge;
use crate::promise::Account;
use crate::report::Report;
use crate::report::figures::SlowdownSummary;
use crate::report::status::Status;
use crate::resource::{News, Resource, Verdict, sooner};

/// Asks what is wrong with the user's measure since the last time.
pub type Complaints = Box<dyn FnMut() -> Vec<String> + Send>;

/// See the module.
pub struct CpuResource {
    start: CpuStart,
    cpu: Option<Cpu>,
    affinity: Affinity,
    listener: Option<Arc<Listener>>,
    shared: Arc<Shared>,
    complaints: Complaints,
    /// The option by which the CPUs were asked for.
    wish: Option<&'static str>,
    news: Vec<News>,
}

impl CpuResource {
    /// Begins to load the sensor, if something is wanted of the CPUs; the nudge is given when it stands.
    pub fn begin(
        aim: Option<CpuAim>,
        wish: Option<&'static str>,
        (protect, job_processes): (&Protect, &JobProcesses),
        (measure, complaints): (Option<Box<dyn UserMeasure>>, Complaints),
        (listener, shared): (Option<Arc<Listener>>, Arc<Shared>),
        nudge: &Arc<Nudge>,
    ) -> Self {
        let start = CpuStart::begin(aim, protect, job_processes.clone(), measure, nudge);
        let (cpu, affinity) = (None, Affinity::default());
        Self { start, cpu, affinity, listener, shared, complaints, wish, news: Vec::new() }
    }

    /// Lets calls go on that are answered, or have to go on as they are.
    fn pass(&self, ids: &[u64]) {
        for id in ids {
            if let Some(listener) = &self.listener {
                listener.pass(*id);
            }
            self.shared.unlist(*id);
        }
    }
}

impl Resource for CpuResource {
    fn turn(&mut self, now: Nanos, was_held: bool) -> Option<Nanos> {
        match self.start.finish(now) {
            Some(Ok(cpu)) => self.cpu = Some(cpu),
            Some(Err(error)) => self.news.push(match self.wish {
                Some(option) => News::Unmet(format!("{option}: {error}")),
                None => News::Note(error.to_string()),
            }),
            None => {}
        }
        let cpu = self.cpu.as_mut()?;
        let next = cpu.turn(now, was_held);
        let Some(listener) = &self.listener else { return next };
        let made = self.affinity.turn(now, cpu.gate(), listener);
        self.pass(&made);
        sooner(next, self.affinity.next())
    }

    fn wants_hold(&self) -> bool {
        self.cpu.as_ref().is_some_and(Cpu::wants_hold)
    }

    fn accounts(&mut self) -> Vec<&mut dyn Account> {
        vec![self]
    }

    fn on_call(&mut self, trap: &Trap) -> Option<Verdict> {
        let is_ours = self.cpu.is_some() && trap.concerns_cpus();
        is_ours.then(|| {
            self.affinity.wait(trap);
            Verdict::Wait
        })
    }

    fn news(&mut self) -> Vec<News> {
        let mut news = std::mem::take(&mut self.news);
        news.extend((self.complaints)().into_iter().map(News::Told));
        news
    }

    fn wake_fd(&self) -> RawFd {
        self.start.wake_fd()
    }

    fn drain(&self) {
        self.start.drain();
    }

    fn status(&self, _now: Nanos, status: &mut Status) {
        if let Some(cpu) = &self.cpu {
            status.cpu_slowdown = cpu.slowdown();
            status.held_for_cpu = cpu.wants_hold();
            status.held_for_test = cpu.is_tested();
        }
    }

    fn report(&self, now: Nanos, report: &mut Report) {
        report.cpu = self.cpu.as_ref().map(|cpu| cpu.summary(now));
    }

    fn end(&mut self, _now: Nanos) {
        self.cpu = None;
        let unanswered = self.affinity.end();
        self.pass(&unanswered);
    }
}

/// Nothing is lost before the sensor stands.
impl Account for CpuResource {
    fn name(&self) -> &str {
        "cpu"
    }

    fn usage(&mut self, _now: Nanos) -> Use {
        self.cpu.as_ref().map(Cpu::usage).unwrap_or_default()
    }

    fn set_promise(&mut self, promise: Loss) {
        if let Some(cpu) = &mut self.cpu {
            cpu.set_promise(promise);
        }
    }

    fn slowdown(&self) -> Option<SlowdownSummary> {
        self.cpu.as_ref().and_then(Cpu::slowdown)
    }
}
