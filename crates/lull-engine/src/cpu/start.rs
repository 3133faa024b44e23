//! Starting what watches the CPUs, once there is somebody to watch.
//!
//! The sensor costs tens of milliseconds to load, and something at each switch between tasks. A job that has the machine to
//! itself need not pay for it: until somebody else computes, the processes' times are read five times a second, a few microseconds each.
//!
//! Edge cases: with `--slo` the user's measure wants the job's time from the beginning: the sensor is loaded at once. What begins and
//! ends between two looks is not seen.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use lull_bpf::cpu::{CpuSensor, CpuSettings};
use lull_bpf::{Protect, SensorError};
use lull_core::{Nanos, Share};
use lull_linux::clock;
use lull_linux::gate::lend::Lender as CpuGate;
use lull_linux::root::Root;
use lull_linux::sense::processes;

use super::measure::UserMeasure;
use super::{Cpu, CpuAim};
use crate::job_processes::JobProcesses;
use crate::nudge::Nudge;
use crate::priority::at_normal_priority;
use crate::thread;

/// A job that ends sooner does not pay for the sensor.
const SHORT_JOB: Duration = Duration::from_millis(250);
/// How often to look whether anybody else computes: times are told in ticks of 10 ms, too coarse for less.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);
/// Where there are many processes looks are rarer: they take this part of the time, at most.
const COST_SHARE: u64 = 200;
/// A foreground that uses less of one CPU is that of a machine at rest, whose daemons nobody need watch.
const AT_REST: Share = Share::percent(5);

/// From the wish to the running sensor.
pub(crate) struct CpuStart {
    pending: Option<Pending>,
    sensor: Option<CpuSensor>,
}

struct Pending {
    receiver: Receiver<Result<CpuSensor, SensorError>>,
    aim: CpuAim,
    job_processes: JobProcesses,
    measure: Option<Box<dyn UserMeasure>>,
}

impl CpuStart {
    /// Begins to load the sensor, if something is wanted of the CPUs; the nudge is given when it stands.
    pub(super) fn begin(
        aim: Option<CpuAim>,
        protect: &Protect,
        job_processes: JobProcesses,
        measure: Option<Box<dyn UserMeasure>>,
        nudge: &Arc<Nudge>,
    ) -> Self {
        let mut start = Self { pending: None, sensor: None };
        if let Some(aim) = aim {
            let nudge = Arc::clone(nudge);
            let receiver = load(protect, &job_processes, measure.is_none(), move || nudge.give());
            start.pending = Some(Pending { receiver, aim, job_processes, measure });
        }
        start
    }

    /// The CPUs once their sensor stands; once.
    pub(crate) fn finish(&mut self, now: Nanos) -> Option<Result<Cpu, SensorError>> {
        let outcome = self.pending.as_ref()?.receiver.try_recv().ok()?;
        let Pending { aim, job_processes, measure, .. } = self.pending.take()?;
        Some(outcome.map(|sensor| {
            let group = job_processes.open_group();
            let gate = CpuGate::new(&Root::real(), group.as_ref(), Box::new(move || job_processes.pids()));
            let cpu = Cpu::new(Box::new(sensor.cpus()), Box::new(gate), measure, &aim, now);
            self.sensor = Some(sensor);
            cpu
        }))
    }

    /// Polls readable when the sensor has woken us; -1 without.
    pub(crate) fn wake_fd(&self) -> RawFd {
        self.sensor.as_ref().map_or(-1, CpuSensor::wake_fd)
    }

    /// Takes all wake-ups that are there.
    pub(crate) fn drain(&self) {
        self.sensor.iter().for_each(CpuSensor::drain);
    }
}

/// Loads the sensor in a thread; if it `waits`, when others compute.
fn load(
    protect: &Protect,
    job_processes: &JobProcesses,
    waits: bool,
    when_done: impl FnOnce() + Send + 'static,
) -> Receiver<Result<CpuSensor, SensorError>> {
    let (sender, receiver) = sync_channel(1);
    let aim = CpuSettings {
        protect: protect.clone(),
        own: job_processes.helpers(),
        job_group: job_processes.group_id(),
    };
    let job_processes = job_processes.clone();
    thread::start(move || {
        std::thread::sleep(SHORT_JOB);
        if waits {
            let mut others = Others::of(job_processes);
            loop {
                std::thread::sleep(Duration::from_nanos(others.pause().0));
                if others.compute() {
                    break;
                }
            }
        }
        // Nobody waits for it any more: the job has ended.
        let _ = sender.send(at_normal_priority(|| CpuSensor::load(&aim, clock::now())));
        when_done();
    });
    receiver
}

/// Everybody but the job.
struct Others {
    job_processes: JobProcesses,
    /// When last looked, and the time that they had used.
    looked: (Nanos, Nanos),
    /// How long that took.
    cost: Nanos,
}

impl Others {
    fn of(job_processes: JobProcesses) -> Self {
        Self { looked: Self::look(&job_processes), cost: Nanos::ZERO, job_processes }
    }

    fn look(job_processes: &JobProcesses) -> (Nanos, Nanos) {
        (clock::now(), processes::time_of_programs(&job_processes.others()))
    }

    /// Until the next look.
    fn pause(&self) -> Nanos {
        LOOK_EVERY.max(self.cost.times(COST_SHARE))
    }

    /// Whether they have used the CPUs since the last look, as more than a machine at rest does.
    fn compute(&mut self) -> bool {
        let now = Self::look(&self.job_processes);
        self.cost = clock::now().since(now.0);
        let before = std::mem::replace(&mut self.looked, now);
        now.1.since(before.1) >= AT_REST.of(now.0.since(before.0))
    }
}
