//! The CPUs as a resource: from the wish to what lends them, and the job's questions about them.

use std::os::fd::RawFd;
use std::sync::Arc;

use lull_core::{Loss, Nanos, Use};
use lull_linux::job::shared::Shared;
use lull_linux::seccomp::{Listener, Trap};

use super::Cpu;
use super::affinity::Affinity;
use super::start::CpuStart;
use crate::run::family::Family;
use crate::run::nudge::Nudge;
use crate::run::promise::Account;
use crate::run::report::Report;
use crate::run::report::figures::SlowdownSummary;
use crate::run::report::status::Status;
use crate::run::resource::{News, Resource, Verdict, sooner};
use crate::run::settings::RunSettings;
use crate::run::slo::{Complaints, Slo};

/// See the module.
pub(crate) struct CpuResource {
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
    /// Begins to load the sensor if it is wanted and of use; the nudge is given when it stands. `is_refused`: no
    /// BPF program may be loaded here.
    pub(crate) fn begin(
        settings: &RunSettings,
        (is_refused, wish): (bool, Option<&'static str>),
        family: &Family,
        (slo, complaints): (Option<Slo>, Complaints),
        (listener, shared): (Option<Arc<Listener>>, Arc<Shared>),
        nudge: &Arc<Nudge>,
    ) -> Self {
        let start = CpuStart::begin(settings, is_refused, family.clone(), slo, nudge);
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
        news.extend(self.complaints.take().into_iter().map(News::Told));
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
