//! `lull bench net`: what background traffic costs the foreground on one link, and what it carries.
//!
//! ```text
//!  a test network for every run       left: the job (nsenter … lull run … net-flood) ──▶ right: counted
//!  (namespaces, a shaped link)        left: the foreground                           ──▶ right: counted
//! ```
//! Each run has a network of its own, so that no queue and no connection outlives it. Both classes are judged by what
//! arrives. Nothing leaves the namespaces. The job is started in the left one; lull, where it is the contender, too.

use std::path::Path;

use lull_core::Nanos;

use super::SETTLE;
use super::ledger::{Ledger, Plan};
use super::told::Told;
use super::trial::{self, Foreground, Job, Window};
use crate::contender::Contender;
use crate::netbed::{self, Bed};
use crate::process::{Program, shown};
use crate::record::Run;
use crate::units::whole;
use crate::{Error, stop};

pub mod args;
pub mod case;
mod front;
mod job;

pub use args::{NetArgs, NetCase, PaperFigure};

use case::Case;
use front::Ready;

/// What a run takes beside warm-up and counting, as seen: network, start and end of the processes.
const AROUND_S: f64 = 0.8;

/// `lull bench net`: measures, then writes and prints the report.
///
/// # Errors
/// When no test network can be had, when the records cannot be written, or after an interruption.
pub fn run_net(args: &NetArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    if let Some(detail) = netbed::obstacle() {
        return Err(Error::Unmet { what: "a test network".to_owned(), detail });
    }
    let program = &args.common.program(program)?;
    let (host, _awake) = args.common.prepare(Path::new("."), program);
    let mut ledger = Ledger::open(&args.common.out, host)?;
    let measured = cases(args).try_for_each(|case| measure(&case, args, program, &mut ledger));
    args.common.conclude(measured, &ledger)
}

fn cases(args: &NetArgs) -> impl Iterator<Item = Case> {
    args.cases().into_iter().flat_map(|group| Case::all_of(group, args))
}

fn measure(case: &Case, args: &NetArgs, program: &Program, ledger: &mut Ledger) -> Result<(), Error> {
    let missing = case.missing();
    if !missing.is_empty() {
        let detail = format!("not installed: apt-get install {}", missing.join(" "));
        return ledger.unmet(&case.name, None, detail);
    }
    let mut contenders = Vec::new();
    for contender in args.contenders() {
        stop::check()?;
        let obstacle = case.obstacle(&contender).or_else(|| contender.obstacle(None, program));
        match obstacle {
            None => contenders.push(contender),
            Some(detail) => ledger.unmet(&case.name, Some(&contender), detail)?,
        }
    }
    let runs = contenders.len() as f64 * f64::from(args.common.rounds);
    let about_s = runs * (args.warmup + args.common.seconds + AROUND_S);
    eprintln!(
        "{}: {} contenders, {} rounds, about {about_s:.0} s",
        case.name,
        contenders.len(),
        args.common.rounds
    );
    let plan = Plan { contenders, seed: args.common.seed, rounds: args.common.rounds };
    ledger.rounds(&case.name, &plan, &mut |contender, _| one(args, program, case, contender))
}

/// One contender's run.
fn one(args: &NetArgs, program: &Program, case: &Case, contender: &Contender) -> Result<Run, Error> {
    let bed = Bed::build(&case.link.with_queue(contender.link_queue()))?;
    let told = Told::create(&args.common.out)?;
    // Dropped after the job.
    let (mut command, mut job, mut kept) = (None, None, None);
    if contender.has_background() {
        let prepared = job::prepare(case, contender, &bed, program)?;
        let mut argv = front::entering(&bed.left);
        let first = [&told.flags()[..], &["--resources", "net"].map(str::to_owned)].concat();
        let equipped = args.common.equipped(contender, &first);
        argv.extend(equipped.wrap(prepared.argv, program));
        command = Some(shown(&argv));
        job = Some(Job { argv, meter: prepared.meter, leash: prepared.leash, at_once: false });
        kept = Some(prepared.kept);
    }
    let front = Ready::make(case, &bed, args.common.seed)?;
    let foreground = contender.has_foreground().then_some(&front as &dyn Foreground);
    let window = Window { warmup: seconds(args.warmup), length: seconds(args.common.seconds) };
    std::thread::sleep(SETTLE);
    let outcome = trial::run(foreground, job, window, program, &mut |_| ())?;
    drop(kept);
    let mut notes = outcome.notes;
    if !bed.is_up() {
        notes.push("the delaying relay has failed".to_owned());
    }
    let probed = outcome.foreground.as_ref().and_then(|report| report.probe.as_deref());
    if let Some(probe) = probed.filter(|probe| probe.lost > 0) {
        notes.push(format!("{} of {} probes were lost", probe.lost, probe.sent));
    }
    let is_controlled = told.had(contender, "net", &mut notes);
    Ok(Run {
        case: case.name.clone(),
        contender: contender.name(),
        command,
        foreground_command: foreground.map(|foreground| shown(&foreground.argv(window, program))),
        foreground: outcome.foreground,
        background: outcome.background,
        counted: bed.is_up() && is_controlled,
        notes,
        ..Run::default()
    })
}

fn seconds(value: f64) -> Nanos {
    Nanos(whole(value * 1e9))
}
