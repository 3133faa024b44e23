//! Foreground: how late a sleeping thread wakes up, as `cyclictest` measures it, at normal priority.
//!
//! One thread per CPU, pinned to it, sleeps to an absolute time every interval and records by how much it
//! overslept. The instants are fixed in advance: after a late wake-up the next ones are not moved, so a stall
//! of ten intervals counts ten times, as it would for ten timers.

use std::thread;

use lull_core::Nanos;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::error::Context;
use crate::load::arms::{Arms, Served};
use crate::load::{BeatArgs, LoadReport, ShiftArgs, joined, own_cpu_ns};
use crate::{Error, clock, stop};

/// Time for the threads to start before the first wake-up.
const START: Nanos = Nanos::from_millis(20);

/// Arguments of `load cpu-wakeup`.
#[derive(Clone, Debug, clap::Args)]
pub struct WakeupArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Whether it counts by beats.
    #[command(flatten)]
    pub beats: BeatArgs,
    /// Time from one wake-up to the next.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub interval: Nanos,
}

/// The CPUs that this process may use.
fn cpus() -> Result<Vec<usize>, Error> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).to("read the CPU affinity")?;
    Ok((0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect())
}

/// Sleeps and wakes until stopped.
pub fn run(args: &WakeupArgs) -> Result<LoadReport, Error> {
    if args.interval == Nanos::ZERO {
        return Err(Error::Argument {
            argument: "--interval 0".to_owned(),
            problem: "a thread that never sleeps has no wake-ups; write a time like 1ms".to_owned(),
        });
    }
    let start = clock::now().plus(START);
    let begun = start.plus(args.shift.warmup);
    let end = args.shift.end(begun).unwrap_or(Nanos::MAX);
    let cpus = cpus()?;
    let recorders: Vec<Arms> = thread::scope(|scope| {
        let threads: Vec<_> =
            cpus.iter().map(|cpu| scope.spawn(move || wake(*cpu, start, args, begun, end))).collect();
        threads.into_iter().map(|thread| joined(thread.join())).collect::<Result<_, Error>>()
    })?;
    let mut all = args.beats.arms();
    recorders.into_iter().for_each(|arms| all.merge(arms));
    // The last wake-up is up to an interval before the end of the window.
    let ended = if stop::requested() { clock::now().min(end) } else { end }.max(begun);
    Ok(LoadReport { cpu_ns: own_cpu_ns(), ..all.report("cpu-wakeup", begun, ended) })
}

/// One thread's wake-ups from `start` to `end`; those due before `begun` are not counted.
fn wake(cpu: usize, start: Nanos, args: &WakeupArgs, begun: Nanos, end: Nanos) -> Result<Arms, Error> {
    let mut only = CpuSet::new();
    only.set(cpu).to("name a CPU")?;
    sched_setaffinity(Pid::from_raw(0), &only).to("pin a thread to its CPU")?;
    clock::sharp_timers()?;
    let mut arms = args.beats.arms();
    let mut due = start;
    while due < end && !stop::requested() {
        clock::sleep_until(due);
        let now = clock::now();
        // A signal ends a sleep early; the flag is looked at next.
        if now >= due {
            if due >= begun {
                arms.record(&Served { arrival: due, from: now, to: now, given_up: false });
            }
            due = due.plus(args.interval);
        }
    }
    Ok(arms)
}

#[cfg(test)]
mod tests;
