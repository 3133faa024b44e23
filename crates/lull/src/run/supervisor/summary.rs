//! What the supervisor tells the front at the end, and what it has used itself.

use lull_core::Nanos;

use super::front_channel::FrontChannel;
use crate::run::settings::RunSettings;
use crate::run::summary::Summary;
use lull_engine::hold_gate::HoldGate;
use lull_engine::report::Report;

/// When a run reached what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// lull was started.
    pub(crate) born: Nanos,
    /// The job could begin.
    pub(crate) began: Nanos,
    /// It was watched.
    pub(crate) sensing: Nanos,
}

/// What became of the run; the front adds what it alone knows. `starved`: for how long the job wanted a CPU and had none.
pub(crate) fn summary(
    report: Report,
    settings: &RunSettings,
    front: &FrontChannel,
    hold: &HoldGate,
    (sensor, times, now): (&str, Times, Nanos),
    starved: Option<Nanos>,
) -> Summary {
    let Times { born, began, sensing } = times;
    let (cpu, peak) = own_cost();
    Summary {
        is_complete: true,
        promised: settings.promise.fraction(),
        unmet: front.unmet.clone(),
        // The front knows it: a command line may be larger than a message.
        command: Vec::new(),
        status: None,
        wall_ns: now.since(began).0,
        held_ns: report.held_ns,
        sensor: sensor.to_owned(),
        policy: settings.asked.protection.policy.name().to_owned(),
        regulation: report.regulation,
        gate: report.gate,
        read_ahead_bytes: report.read_ahead_bytes,
        holds: hold.count(),
        job_held_ns: hold.total(now).0,
        starved_ns: starved.map(|starved| starved.0),
        supervisor_cpu_ns: cpu.0,
        supervisor_peak_bytes: peak,
        startup_ns: began.since(born).0,
        sensors_ns: sensing.since(began).0,
        notes: front.notes.iter().cloned().chain(report.more).collect(),
        disks: report.disks,
        cpu: report.cpu,
        whole: report.whole,
        memory: report.memory,
        net: report.net,
        queues: Vec::new(),
    }
}

/// This process's CPU time, and the most bytes of memory that it had.
fn own_cost() -> (Nanos, u64) {
    let Ok(usage) = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF) else {
        return (Nanos::ZERO, 0);
    };
    let cpu = [usage.user_time(), usage.system_time()].into_iter().map(|time| {
        u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec()).unwrap_or(0) * 1_000
    });
    (Nanos(cpu.sum()), u64::try_from(usage.max_rss()).unwrap_or(0) * 1024)
}

/// Whether the job got next to no CPU in a span although it wanted some: by how long it was starved and what it used, before and after.
pub(crate) fn is_starved(span: Nanos, before: [Nanos; 2], after: [Nanos; 2]) -> bool {
    let [starved, used] = std::array::from_fn(|i| after[i].since(before[i]));
    starved >= Nanos(span.0 / 2) && used < Nanos(span.0 / 10)
}

#[cfg(test)]
mod tests;
