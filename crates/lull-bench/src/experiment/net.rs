//! `lull bench net`: what background traffic costs the foreground on one link, and what it carries.
//!
//! ```text
//!  a test network for every run       left: the job (nsenter … lull run … net-flood) ──▶ right: counted
//!  (namespaces, a shaped link)        left: the foreground                           ──▶ right: counted
//! ```
//! Each run has a network of its own, so that no queue and no connection outlives it. Both classes are judged
//! by what arrives. Nothing leaves the namespaces. The job is started in the left one; lull, where it is the
//! contender, too.

use std::path::Path;

use super::SETTLE;
use super::measurement::{Measurement, Setup};
use super::summary::SummaryFile;
use super::trial::{self, Window};
use crate::contender::Contender;
use crate::netbed::{self, Bed};
use crate::process::Program;
use crate::record::Run;
use crate::units::nanos;
use crate::{Error, stop};

pub mod args;
pub mod case;
mod front;
mod job;

pub use args::{NetArgs, NetCase, PaperFigure};

use case::Case;

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
    let mut bench = Measurement::begin(&args.common, program, Path::new("."))?;
    let mut cases = args.cases().into_iter().flat_map(|group| Case::all_of(group, args));
    let measured = cases.try_for_each(|case| measure(&case, args, &mut bench));
    bench.conclude(measured, None)
}

fn measure(case: &Case, args: &NetArgs, bench: &mut Measurement<'_>) -> Result<(), Error> {
    let missing = case.missing();
    if !missing.is_empty() {
        let detail = format!("not installed: apt-get install {}", missing.join(" "));
        return bench.ledger.unmet(&case.name, None, detail);
    }
    let contenders = bench.able(&case.name, args.contenders(), None, |contender| case.obstacle(contender))?;
    let run_s = args.warmup + args.common.seconds + AROUND_S;
    bench.rounds(&case.name, &contenders, Some(&|_| run_s), &mut |setup, contender, _| {
        one(args, setup, case, contender)
    })
}

/// One contender's run.
fn one(args: &NetArgs, setup: &Setup<'_>, case: &Case, contender: &Contender) -> Result<Run, Error> {
    let bed = Bed::build(&case.link.with_queue(contender.link_queue()))?;
    let summary_file = SummaryFile::create(&args.common.out)?;
    let mut job = None;
    if contender.has_background() {
        let first = [&summary_file.flags()[..], &["--resources", "net"].map(str::to_owned)].concat();
        let mut made = job::prepare(case, contender, &bed, &setup.program)?;
        made = made.under(&setup.started(contender, &first), None, &setup.program);
        made.argv.splice(0..0, bed.left.entering());
        job = Some(made);
    }
    let (foreground, _server) = front::prepare(case, &bed, args.common.seed)?;
    let foreground = contender.has_foreground().then_some(&foreground);
    let window = Window { warmup: nanos(args.warmup), length: nanos(args.common.seconds) };
    std::thread::sleep(SETTLE);
    let mut run = trial::run(foreground, job, window, &setup.program, &mut |_| ())?;
    if !bed.is_up() {
        run.notes.push("the delaying relay has failed".to_owned());
    }
    let probed = run.foreground.as_ref().and_then(|report| report.probe.as_deref());
    if let Some(probe) = probed.filter(|probe| probe.lost > 0) {
        run.notes.push(format!("{} of {} probes were lost", probe.lost, probe.sent));
    }
    run.counted = summary_file.had(contender, "net", &mut run.notes) && bed.is_up();
    Ok(run)
}
