//! Starting what watches the CPUs: its sensor takes longer to load than a short job lives, so it is loaded beside it.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use lull_bpf::SensorError;
use lull_bpf::cpu::CpuSensor;
use lull_core::Nanos;
use lull_linux::gate::lend::Lender as CpuGate;
use lull_linux::root::Root;

use super::cpu::{Cpu, CpuAim};
use super::family::Family;
use super::freezer::Freezer;
use super::sensors;
use super::settings::{RunSettings, SensorChoice};
use super::slo::Slo;
use super::supervisor::Nudge;

/// From the wish to the running sensor.
pub(crate) struct CpuStart {
    pending: Option<Pending>,
    sensor: Option<CpuSensor>,
}

struct Pending {
    receiver: Receiver<Result<CpuSensor, SensorError>>,
    aim: CpuAim,
    family: Family,
    slo: Option<Slo>,
}

impl CpuStart {
    /// Begins to load the sensor if it is wanted and of use; the nudge is given when it stands.
    pub(crate) fn begin(
        settings: &RunSettings,
        family: Family,
        slo: Option<Slo>,
        nudge: &Arc<Nudge>,
    ) -> Self {
        let aim = settings.cpu.filter(|_| settings.sensor != SensorChoice::Diskstats);
        let mut start = Self { pending: None, sensor: None };
        if let Some(aim) = aim {
            let nudge = Arc::clone(nudge);
            let receiver = sensors::start_cpu(settings, &family, move || nudge.give());
            start.pending = Some(Pending { receiver, aim, family, slo });
        }
        start
    }

    /// The CPUs once their sensor stands; once.
    pub(crate) fn finish(&mut self, freezer: &Freezer, now: Nanos) -> Option<Result<Cpu, SensorError>> {
        let outcome = self.pending.as_ref()?.receiver.try_recv().ok()?;
        let Pending { aim, family, slo, .. } = self.pending.take()?;
        Some(outcome.map(|sensor| {
            let gate = CpuGate::new(&Root::real(), freezer.group(), Box::new(move || family.pids()));
            let cpu = Cpu::new(sensor.cpus(), gate, slo, &aim, now);
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
