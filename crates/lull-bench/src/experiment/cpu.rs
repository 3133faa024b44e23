//! `lull bench cpu`: what background computation costs the foreground, and what it gets done.
//!
//! ```text
//!  once, nothing else running:  calibrate: so many random reads take 0.8 ms
//!  case ──▶ round 1: lull  alone  sched-idle  headroom  none …     shuffled anew in every round, from the seed
//!           round 2: …                                             the same arrivals for every contender of a round
//! ```
//! Requests are a fixed number of reads, found once, so that every contender's foreground has the same work;
//! their arrivals are fixed by the round's seed, so that every contender of a round meets the same bursts. In
//! the counted time the background runs and pauses in turns ([beats](crate::beats)), so that each run is
//! compared with itself. Contenders that learn get time to settle before the counting begins, the others a
//! short warm-up. A [policy](Contender::Policy) learns with the foreground at work: it is started together
//! with it, the others before it. For lull, the summary that it writes is kept, so that the slowdown that it
//! reports can be held against the one measured here.

use std::path::Path;

use lull_core::Nanos;

use super::SETTLE;
use super::disturbance::{Around, Spent};
use super::measurement::{Measurement, Setup};
use super::summary::SummaryFile;
use super::trial::{self, Window};
use crate::contender::Contender;
use crate::contender::group::{self, CpuGroup};
use crate::contender::headroom::{self, Policy};
use crate::load::LoadReport;
use crate::process::Program;
use crate::record::{Disturbance, Run, reported_cpu_slowdown};
use crate::units::nanos;
use crate::{Error, stop};

pub mod args;
pub mod case;

pub use args::{CpuArgs, CpuCase};

use case::Case;

/// A run with fewer beats may have no quiet one, or no loaded one.
const FEWEST_BEATS: u64 = 4;
/// What a run takes beside its warm-up and its counted time.
const AROUND_S: f64 = 0.8;
/// CPUs that the headroom controller always leaves to the background.
const FLOOR_CPUS: f64 = 0.05;

/// `lull bench cpu`: measures, then writes and prints the report.
pub fn run_cpu(args: &CpuArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    if nanos(args.common.seconds) < args.beat.times(FEWEST_BEATS) {
        return Err(Error::Argument {
            argument: format!("--seconds {}", args.common.seconds),
            problem: format!(
                "that is less than {FEWEST_BEATS} beats; count longer, or make --beat shorter than {}",
                args.beat
            ),
        });
    }
    group::sweep();
    let mut bench = Measurement::begin(&args.common, program, Path::new("."))?;
    bench.setup.smart_window = args.smart_window();
    let reads = calibrate(args, &bench.setup.program)?;
    let mut cases = args.cases.iter().map(|group| Case::of(*group, args, reads));
    let measured = cases.try_for_each(|case| measure(args, &case, &mut bench));
    bench.conclude(measured, None)
}

/// How many random reads a request makes, found while nothing else runs.
fn calibrate(args: &CpuArgs, program: &Program) -> Result<u64, Error> {
    if let Some(reads) = args.reads {
        return Ok(reads);
    }
    let reads = case::calibrate(args.service, args.buffer, program)?;
    eprintln!("calibrated: {reads} random reads over {} take {}", args.buffer, args.service);
    Ok(reads)
}

fn measure(args: &CpuArgs, case: &Case, bench: &mut Measurement<'_>) -> Result<(), Error> {
    let contenders = bench.able(&case.name, args.contenders(), None, |_| None)?;
    let (slack, note) = promise(args, case, &bench.setup.program);
    let run_s = |contender: &Contender| args.warmup_s(contender) + args.common.seconds + AROUND_S;
    bench.rounds(&case.name, &contenders, Some(&run_s), &mut |setup, contender, round| {
        let mut run = one(args, setup, case, contender, &slack, round)?;
        match contender {
            Contender::Lull(_) => run.notes.extend(note.clone()),
            Contender::Policy("smart") => run.notes.extend(args.unlearnt()),
            _ => {}
        }
        Ok(run)
    })
}

/// The flags by which lull is told how much it may cost in this case, and what to say if it does not know
/// them.
fn promise(args: &CpuArgs, case: &Case, program: &Program) -> (Vec<String>, Option<String>) {
    let wanted = case.max_slowdown.or(args.max_slowdown.as_deref());
    let Some(wanted) = wanted else { return (Vec::new(), None) };
    let flags = ["--max-slowdown", wanted].map(str::to_owned).to_vec();
    let refused = Contender::Lull(flags.clone()).obstacle(None, program);
    match (refused, case.max_slowdown) {
        // What the case is about cannot be asked for; what it does without is worth knowing.
        (Some(_), Some(_)) => (Vec::new(), Some(format!("this lull knows no --max-slowdown {wanted}"))),
        _ => (flags, None),
    }
}

/// One contender's run; `slack` says to lull how much it may cost.
fn one(
    args: &CpuArgs,
    setup: &Setup<'_>,
    case: &Case,
    contender: &Contender,
    slack: &[String],
    round: u32,
) -> Result<Run, Error> {
    // Dropped after everything that runs in it.
    let group = group_of(contender, args.headroom, args.headroom_period)?;
    let summary_file = SummaryFile::create(&args.common.out)?;
    let mut job = None;
    if contender.has_background() {
        let slack = if matches!(contender, Contender::Lull(_)) { slack } else { &[] };
        let started = setup.started(contender, &[&summary_file.flags(), slack].concat());
        let mut hogs = case.hogs.job(&setup.program)?.under(&started, group.as_ref(), &setup.program);
        hogs.at_once = matches!(contender, Contender::Policy(_));
        job = Some(hogs);
    }
    let foreground = case.foreground_in(args.common.seed, round);
    let foreground = contender.has_foreground().then_some(&foreground);
    let window = Window { warmup: nanos(args.warmup_s(contender)), length: nanos(args.common.seconds) };
    std::thread::sleep(SETTLE);
    let around = Around::begin();
    let mut run = trial::run(foreground, job, window, &setup.program, &mut |_| ())?;
    run.disturbance = around.end().and_then(|spent| disturbance(spent, &run));
    run.note_given_up();
    run.overrun = run.foreground.as_ref().is_some_and(LoadReport::is_overrun);
    if run.overrun {
        let note = "OVERRUN: the foreground's queue did not empty, so its ratios show nothing";
        run.notes.push(note.to_owned());
    }
    let summary = if contender.is_run() { summary_file.read(&mut run.notes) } else { None };
    run.reported = summary.as_ref().and_then(reported_cpu_slowdown);
    Ok(run)
}

/// What others had of the machine while a trial ran.
fn disturbance(spent: Spent, run: &Run) -> Option<Disturbance> {
    let foreground = run.foreground.as_ref().map_or(Some(0.0), |report| Some(report.cpu_ns? as f64 / 1e9));
    let background = run.background.as_ref().map_or(Some(0.0), |work| {
        // Without a known cost of control, the job's processes were not all waited for.
        work.cpu_s.filter(|_| work.control_cpu_s.is_some())
    });
    spent.beside(foreground, background)
}

/// The contender's control group, with its controller at work.
pub(super) fn group_of(
    contender: &Contender,
    headroom: u64,
    period: Nanos,
) -> Result<Option<CpuGroup>, Error> {
    let mut group = contender.group()?;
    if let Some(group) = &mut group
        && let Some(quota) = group.quota().cloned()
    {
        let policy = Policy {
            cpus: std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64),
            headroom: headroom as f64 / 100.0,
            floor: FLOOR_CPUS,
            period,
        };
        group.control(headroom::adapt(quota, policy)?, policy);
    }
    Ok(group)
}

#[cfg(test)]
mod tests;
