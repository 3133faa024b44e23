//! What the supervisor tells the front: the numbers of the status line, and the summary at the end.

use lull_core::Nanos;
use lull_linux::clock;

use super::disk::Disk;
use super::disk::summary::bound_text;
use super::engine::Engine;
use super::hold_gate::HoldGate;
use super::messages::Status;
use super::net::Net;
use super::regulator::Regulator;
use super::summary::Summary;
use super::supervisor::Supervisor;

impl Supervisor {
    /// What became of the run; `began` is when the job could begin, `sensing` when it was watched.
    pub(super) fn summary(
        &self,
        engine: &Engine,
        gate: &HoldGate,
        sensor: &str,
        [began, sensing]: [Nanos; 2],
    ) -> Summary {
        let now = clock::now();
        let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).ok();
        let cpu = usage.map_or(0, |usage| {
            [usage.user_time(), usage.system_time()]
                .iter()
                .map(|time| {
                    u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
                        + u64::try_from(time.tv_usec()).unwrap_or(0) * 1_000
                })
                .sum()
        });
        let peak = usage.and_then(|usage| u64::try_from(usage.max_rss()).ok()).unwrap_or(0) * 1024;
        Summary {
            is_complete: true,
            promised: self.settings.promise.fraction(),
            unmet: self.unmet.clone(),
            // The front knows it: a command line may be larger than a message.
            command: Vec::new(),
            status: None,
            wall_ns: now.since(began).0,
            held_ns: engine.held(now).0,
            sensor: sensor.to_owned(),
            policy: self.settings.policy.name().to_owned(),
            regulation: engine.regulator.as_ref().map(Regulator::learnt),
            gate: engine.gate_counts(),
            read_ahead_bytes: engine.read_ahead_bytes(),
            holds: gate.count(),
            job_held_ns: gate.total(now).0,
            starved_ns: None,
            supervisor_cpu_ns: cpu,
            supervisor_peak_bytes: peak,
            startup_ns: began.since(self.born).0,
            sensors_ns: sensing.since(began).0,
            notes: self.notes.clone(),
            disks: engine.disks.iter().map(Disk::summary).collect(),
            cpu: engine.cpu.as_ref().map(|cpu| cpu.summary(now)),
            whole: engine.promise.summary(&engine.disks, engine.cpu.as_ref()),
            memory: None,
            net: engine.net.as_ref().map(Net::summary),
            queues: Vec::new(),
        }
    }
}

/// Whether the job got next to no CPU in a span although it wanted some: by how long it was starved and what it used, before and after.
pub(super) fn is_starved(span: Nanos, before: [Nanos; 2], after: [Nanos; 2]) -> bool {
    let [starved, used] = std::array::from_fn(|i| after[i].since(before[i]));
    starved >= Nanos(span.0 / 2) && used < Nanos(span.0 / 10)
}

/// What the status line shows now.
#[expect(clippy::cast_precision_loss, reason = "a share for a person")]
pub(super) fn status(engine: &Engine, gate: &HoldGate, now: Nanos, began: Nanos) -> Status {
    let wall = now.since(began).0.max(1);
    let busiest = engine.disks.iter().max_by_key(|disk| disk.latest().background.started);
    let mut status = Status {
        active: 1.0 - engine.held(now).0 as f64 / wall as f64,
        waiting: engine.waiting(),
        held: gate.is_held(),
        state: 'I',
        ..Status::default()
    };
    if let Some(disk) = busiest {
        let report = disk.report();
        status.disk.clone_from(&disk.traits.name);
        status.state = disk.resource.state(now).letter();
        status.background_bytes = report.background_bytes;
        status.quiet_ns = report.quiet.mean().map(|mean| mean.0);
        status.loaded_ns = report.loaded.mean().map(|mean| mean.0);
        status.interval = disk.resource.setting().interval.to_string();
        status.bound = bound_text(disk.resource.setting().depth, disk.resource.window_bytes(now));
        status.disk_slowdown = disk.control.slowdown().map(Into::into);
    }
    if let Some(cpu) = &engine.cpu {
        status.cpu_slowdown = cpu.slowdown();
        status.held_for_cpu = cpu.wants_hold();
        status.held_for_test = cpu.is_tested();
    }
    status.lost = engine.promise.summary(&engine.disks, engine.cpu.as_ref()).map(|whole| whole.lost);
    status.regulation = engine.regulator.as_ref().map(Regulator::doing);
    if let Some(net) = &engine.net {
        status.links = net.status(now);
        status.held_for_net = net.wants_hold();
    }
    status
}

#[cfg(test)]
mod tests;
