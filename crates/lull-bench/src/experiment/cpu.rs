//! `lull bench cpu`: what background computation costs the foreground, and what it gets done.
//!
//! ```text
//!  once, nothing else running:  calibrate: so many random reads take 0.8 ms
//!  case ──▶ round 1: lull  alone  sched-idle  headroom  none …     shuffled anew in every round, from the seed
//!           round 2: …                                             the same arrivals for every contender of a round
//! ```
//! Requests are a fixed number of reads, found once, so that every contender's foreground has the same work; their
//! arrivals are fixed by the round's seed, so that every contender of a round meets the same bursts. In the counted time the
//! background runs and pauses in turns ([beats](crate::beats)), so that each run is compared with itself. Contenders that
//! learn get time to settle before the counting begins, the others a short warm-up. A [policy](Contender::Policy) learns with
//! the foreground at work: it is started together with it, the others before it. For lull, the summary that it writes is
//! kept, so that the slowdown that it reports can be held against the one measured here.

use std::path::Path;

use lull_core::Nanos;

use super::SETTLE;
use super::disturbance::{Around, Spent};
use super::ledger::{Ledger, Plan};
use super::told::Told;
use super::trial::{self, Foreground, Job, Meter, Outcome, ProgressFile, Window};
use crate::contender::Contender;
use crate::contender::group::{self, CpuGroup};
use crate::contender::headroom::{Controller, Policy};
use crate::load::LoadReport;
use crate::process::{Program, shown};
use crate::record::{Disturbance, Run, reported_cpu_slowdown};
use crate::units::whole;
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
    if seconds(args.common.seconds) < args.beat.times(FEWEST_BEATS) {
        return Err(Error::Argument {
            argument: format!("--seconds {}", args.common.seconds),
            problem: format!(
                "that is less than {FEWEST_BEATS} beats; count longer, or make --beat shorter than {}",
                args.beat
            ),
        });
    }
    group::sweep();
    let program = &args.common.program(program)?;
    let (host, _awake) = args.common.prepare(Path::new("."), program);
    let reads = calibrate(args, program)?;
    let ledger = Ledger::open(&args.common.out, host)?;
    let mut bench = Bench { args, program, ledger, reads };
    let measured = args.cases.iter().try_for_each(|group| bench.case(&Case::of(*group, args, reads)));
    args.common.conclude(measured, &bench.ledger)
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

struct Bench<'a> {
    args: &'a CpuArgs,
    program: &'a Program,
    ledger: Ledger,
    reads: u64,
}

impl Bench<'_> {
    fn case(&mut self, case: &Case) -> Result<(), Error> {
        let mut contenders = Vec::new();
        for contender in self.args.contenders() {
            stop::check()?;
            match with_args(&contender, self.args, &[]).started(&[]).obstacle(None, self.program) {
                None => contenders.push(contender),
                Some(detail) => self.ledger.unmet(&case.name, Some(&contender), detail)?,
            }
        }
        let (slack, note) = self.promise(case);
        let length = seconds(self.args.common.seconds);
        let round_s: f64 = contenders
            .iter()
            .map(|contender| self.args.warmup_s(contender) + self.args.common.seconds + AROUND_S)
            .sum();
        let run_s = round_s * f64::from(self.args.common.rounds);
        eprintln!(
            "{}: {} contenders, {} rounds of {} reads per request, about {run_s:.0} s",
            case.name,
            contenders.len(),
            self.args.common.rounds,
            self.reads
        );
        let plan = Plan { contenders, seed: self.args.common.seed, rounds: self.args.common.rounds };
        let (args, program) = (self.args, self.program);
        self.ledger.rounds(&case.name, &plan, &mut |contender, round| {
            let window = Window { warmup: seconds(args.warmup_s(contender)), length };
            let contender = with_args(contender, args, &slack);
            let mut run = one(args, program, case, &contender, round, window)?;
            match contender.contender {
                Contender::Lull(_) => run.notes.extend(note.clone()),
                Contender::Policy("smart") => run.notes.extend(args.unlearnt()),
                _ => {}
            }
            Ok(run)
        })
    }

    /// The flags by which lull is told how much it may cost in this case, and what to say if it does not know them.
    fn promise(&self, case: &Case) -> (Vec<String>, Option<String>) {
        let wanted = case.max_slowdown.or(self.args.max_slowdown.as_deref());
        let Some(wanted) = wanted else { return (Vec::new(), None) };
        let flags = ["--max-slowdown", wanted].map(str::to_owned).to_vec();
        let refused = Contender::Lull(flags.clone()).obstacle(None, self.program);
        match (refused, case.max_slowdown) {
            // What the case is about cannot be asked for; what it does without is worth knowing.
            (Some(_), Some(_)) => (Vec::new(), Some(format!("this lull knows no --max-slowdown {wanted}"))),
            _ => (flags, None),
        }
    }
}

/// A contender with the flags that the command line and the case add to lull. Its name in the records stays.
#[derive(Clone, Debug)]
struct Equipped<'a> {
    contender: &'a Contender,
    flags: Vec<String>,
}

fn with_args<'a>(contender: &'a Contender, args: &CpuArgs, slack: &[String]) -> Equipped<'a> {
    let flags = match contender {
        Contender::Lull(own) => slack.iter().cloned().chain(args.common.flags(own)).collect(),
        other => other.policy_flags(args.smart_window()).into_iter().flatten().collect(),
    };
    Equipped { contender, flags }
}

impl Equipped<'_> {
    /// The contender that is started: lull with these flags before its own.
    fn started(&self, first: &[String]) -> Contender {
        if !self.contender.is_run() {
            return self.contender.clone();
        }
        Contender::Lull([first, &self.flags].concat())
    }
}

/// One contender's run.
fn one(
    args: &CpuArgs,
    program: &Program,
    case: &Case,
    equipped: &Equipped<'_>,
    round: u32,
    window: Window,
) -> Result<Run, Error> {
    let contender = equipped.contender;
    // Dropped after everything that runs in it.
    let group = group_of(contender, args.headroom, args.headroom_period)?;
    let told = Told::create(&args.common.out)?;
    let (mut command, mut job, mut keep) = (None, None, None);
    if contender.has_background() {
        let (file, progress) = ProgressFile::create()?;
        let hogs = program.load_argv(case.hogs.args(file.path()));
        let mut argv = equipped.started(&told.flags()).wrap(hogs, program);
        if let Some(group) = &group {
            argv = group.wrap(argv);
        }
        command = Some(shown(&argv));
        let at_once = matches!(contender, Contender::Policy(_));
        job = Some(Job { argv, meter: Meter::Progress(Box::new(progress)), leash: true, at_once });
        keep = Some(file);
    }
    let foreground = case.foreground.in_round(args.common.seed, round);
    let foreground = contender.has_foreground().then_some(&foreground as &dyn Foreground);
    std::thread::sleep(SETTLE);
    let around = Around::begin();
    let outcome = trial::run(foreground, job, window, program, &mut |_| ())?;
    let disturbance = around.end().and_then(|spent| disturbance(spent, &outcome));
    drop(keep);
    let mut notes = outcome.notes;
    if let Some(report) = outcome.foreground.as_ref().filter(|report| report.unfinished > 0) {
        notes.push(format!("{} requests were given up, so latencies are underestimated", report.unfinished));
    }
    let overrun = outcome.foreground.as_ref().is_some_and(LoadReport::is_overrun);
    if overrun {
        notes.push("OVERRUN: the foreground's queue did not empty, so its ratios show nothing".to_owned());
    }
    let summary = if contender.is_run() { told.read(&mut notes) } else { None };
    let reported = summary.as_ref().and_then(reported_cpu_slowdown);
    Ok(Run {
        case: case.name.clone(),
        contender: contender.name(),
        command,
        foreground_command: foreground.map(|foreground| shown(&foreground.argv(window, program))),
        foreground: outcome.foreground,
        background: outcome.background,
        reported,
        disturbance,
        overrun,
        counted: true,
        notes,
        ..Run::default()
    })
}

/// What others had of the machine while a trial ran.
fn disturbance(spent: Spent, outcome: &Outcome) -> Option<Disturbance> {
    let foreground =
        outcome.foreground.as_ref().map_or(Some(0.0), |report| Some(report.cpu_ns? as f64 / 1e9));
    let background = outcome.background.as_ref().map_or(Some(0.0), |work| {
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
        group.control(Controller::start(quota, policy)?, policy);
    }
    Ok(group)
}

fn seconds(value: f64) -> Nanos {
    Nanos(whole(value * 1e9))
}

#[cfg(test)]
mod tests;
