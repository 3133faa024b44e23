//! `lull bench apps`: real applications in the foreground, real jobs in the background, every way to control
//! them.
//!
//! ```text
//!  per application: start its server
//!    per background × instances: a case
//!      round 1: lull  alone  smart  nice  solo …     shuffled anew in every round, from the seed
//!      round 2: …                                    each run: one line in raw.jsonl, at once
//!  report: report.html, with everything in it
//! ```
//! The load of the foreground begins together with the background, not after it: controls that learn the
//! foreground first must find it at work. Their warm-up (`--settle`) is by default longer than what the
//! slowest learns from; where it is not, smart's runs say so.
//!
//! A measurement that is killed goes on where it was when it is started again with the same output directory
//! ([`Ledger::resume`]). What makes runs comparable and stands in none of them is in the records' host line;
//! other terms are refused there.
//!
//! | module | idea |
//! |---|---|
//! | [`args`] | what can be asked |
//! | [`packages`] | what has to be installed |
//! | [`server`] | the applications, and what loads them |
//! | [`case`] | the background jobs |
//! | `resume` | what an earlier start has done |
//! | [`watch`] | CPUs and state of the background over time |

use std::path::PathBuf;

use lull_core::Nanos;

use super::SETTLE;
use super::cpu::group_of;
use super::data_directory;
use super::disturbance::Around;
use super::ledger::Ledger;
use super::measurement::{Measurement, Setup};
use super::summary::{self, SummaryFile};
use super::trial::{self, Window};
use crate::contender::Contender;
use crate::contender::group::{self, CpuGroup};
use crate::corpus::COLD;
use crate::error::Context;
use crate::process::Program;
use crate::record::{Host, Run};
use crate::units::{count, name, nanos};
use crate::{Error, clock, progress, stop};

pub mod args;
pub mod case;
pub mod packages;
mod resume;
pub mod server;
pub mod watch;

pub use args::{App, AppJob, AppsArgs};

use args::case_name;
use case::Places;
use resume::same_terms;
use server::Server;
use watch::Watch;

/// Share of the CPUs that the headroom controller leaves free, in percent, and how often it adapts.
const HEADROOM: (u64, Nanos) = (20, Nanos::from_secs(5));

/// `lull bench apps`: measures, then writes the report.
///
/// # Errors
/// When nothing could be measured, when the records cannot be written, or after an interruption.
pub fn run_apps(args: &AppsArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    group::sweep();
    progress::sweep();
    summary::sweep(&args.common.out);
    let program = args.common.program(program)?;
    let terms = args.terms();
    same_terms(&args.common.out, &terms)?;
    let directory = data_directory(&args.dir)?.join("apps");
    std::fs::create_dir_all(&directory).at("create", &directory)?;
    let (host, awake) = args.common.prepare(&directory, &program);
    let host = Host { terms, ..host };
    let mut measurement = Measurement::with(&args.common, program, host, awake, Ledger::resume)?;
    measurement.setup.smart_window = args.smart_window;
    let mut bench = Bench { args, measurement, directory: directory.clone(), contenders: Vec::new() };
    let measured = bench.measure();
    if matches!(measured, Err(Error::Interrupted)) && !bench.contenders.is_empty() {
        eprintln!("interrupted: {}; the same command goes on", bench.state(&args.cases()));
    }
    bench.measurement.conclude(measured, args.clean.then_some(&directory))
}

struct Bench<'a> {
    args: &'a AppsArgs,
    measurement: Measurement<'a>,
    directory: PathBuf,
    /// Those that can run here.
    contenders: Vec<Contender>,
}

impl Bench<'_> {
    fn measure(&mut self) -> Result<(), Error> {
        let args = self.args;
        let needs = args.foreground.iter().flat_map(|app| packages::of_app(*app));
        let missing =
            packages::missing(needs.chain(args.background.iter().flat_map(|w| packages::of_work(*w))));
        if !missing.is_empty() && !args.no_install {
            // What cannot be installed leaves its cases out, with the reason.
            packages::install(&missing).unwrap_or_else(|error| eprintln!("{error}"));
        }
        eprintln!("making data files in {}", self.directory.display());
        let places = Places::make(&self.directory, args.trees(), args.tree_size, args.common.seed)?;
        self.contenders = self.measurement.able("all", args.contenders(), None, |_| None)?;
        for contender in &self.contenders {
            let Setup { program, .. } = &self.measurement.setup;
            let about = self.measurement.setup.started(contender, &[]).about(program);
            let command = about.split_once(": ").map_or(about.as_str(), |(_, command)| command);
            eprintln!("contender {}: {command}", contender.name());
        }
        let cases = args.cases();
        let is_done = cases.iter().all(|case| self.is_done(case));
        eprintln!(
            "{}, {}, {}: {}{}",
            count(cases.len(), "case"),
            count(self.contenders.len(), "contender"),
            count(args.rounds(), "round"),
            self.state(&cases),
            if is_done { "" } else { "; interrupted, the same command goes on" }
        );
        args.foreground.iter().try_for_each(|app| self.app(*app, &places))
    }

    fn app(&mut self, app: App, places: &Places) -> Result<(), Error> {
        let cases: Vec<(AppJob, u32)> =
            self.args.jobs().filter(|(work, n)| !self.is_done(&case_name(app, *work, *n))).collect();
        if cases.is_empty() {
            return Ok(());
        }
        let place = self.directory.join(name(&app));
        if let Some(detail) = packages::obstacle(packages::of_app(app)) {
            return self.measurement.ledger.unmet(&name(&app), None, detail);
        }
        if app == App::Postgres {
            self.sessions()?;
        }
        let mut server: Option<Server> = None;
        for (work, instances) in cases {
            // What one case did to it must not take the others away; and the log of Redis only grows.
            if server.as_mut().is_some_and(|server| app == App::Redis || server.check().is_err()) {
                server = None;
            }
            let running = match server.take() {
                Some(server) => server,
                None => {
                    eprintln!("starting {}", name(&app));
                    match Server::start(app, self.args, &place) {
                        Ok(server) => server,
                        Err(Error::Interrupted) => return Err(Error::Interrupted),
                        Err(error) => {
                            return self.measurement.ledger.unmet(&name(&app), None, error.to_string());
                        }
                    }
                }
            };
            self.case(server.insert(running), app, work, instances, places)?;
        }
        drop(server);
        std::fs::remove_dir_all(&place).at("remove", &place)
    }

    /// Records that nice and SCHED_IDLE count only within a session here: each of PostgreSQL's processes
    /// begins one, so they hardly tell such a job from it. That is so for a user as well, and stays as it is.
    fn sessions(&mut self) -> Result<(), Error> {
        if !self.measurement.ledger.is_autogrouped() {
            return Ok(());
        }
        let confined = |contender: &&Contender| {
            matches!(contender, Contender::Nice | Contender::NiceIonice | Contender::Bfq | Contender::Idle)
        };
        let names: Vec<String> = self.contenders.iter().filter(confined).map(Contender::name).collect();
        if names.is_empty() {
            return Ok(());
        }
        let detail = format!(
            "CPU priorities of {}: with kernel.sched_autogroup_enabled = 1 they count only within a session, and each process of PostgreSQL \
             begins one; measured as a user of this machine would have it",
            names.join(", ")
        );
        self.measurement.ledger.unmet(&name(&App::Postgres), None, detail)
    }

    fn case(
        &mut self,
        server: &mut Server,
        app: App,
        work: AppJob,
        instances: u32,
        places: &Places,
    ) -> Result<(), Error> {
        let case = case_name(app, work, instances);
        let obstacle = packages::obstacle(packages::of_work(work))
            .or_else(|| case::lacks_option(work))
            .or_else(|| case::lacks_room(work, instances, self.args.tree_size, &places.scratch));
        if let Some(detail) = obstacle {
            return self.measurement.ledger.unmet(&case, None, detail);
        }
        eprintln!("{case}: {}", self.state(std::slice::from_ref(&case)));
        let args = self.args;
        let Measurement { setup, ledger, .. } = &mut self.measurement;
        let seed = args.common.seed;
        ledger.rounds(&case, &self.contenders, seed, args.common.rounds, &mut |contender, round| {
            server.check()?;
            let mut run = one(args, setup, contender, (server, round), (work, instances, places))?;
            run.notes.extend(args.unlearnt(contender));
            Ok(run)
        })
    }
}

/// One contender's run.
fn one(
    args: &AppsArgs,
    setup: &Setup<'_>,
    contender: &Contender,
    (server, round): (&Server, u32),
    (work, instances, places): (AppJob, u32, &Places),
) -> Result<Run, Error> {
    let scheduler = setup.select(contender, None, None)?;
    places.clear()?;
    // What earlier runs, or the making of the trees, left to be written would be written beside this one.
    nix::unistd::sync();
    let cached = places.chill(work, instances)?;
    // Dropped after everything that runs in it.
    let group: Option<CpuGroup> = group_of(contender, HEADROOM.0, HEADROOM.1)?;
    let summary_file = SummaryFile::create(&args.common.out)?;
    let program = &setup.program;
    let mut job = None;
    if contender.has_background() {
        let prepared = case::prepare(work, instances, places, program)?;
        job = Some(prepared.under(&setup.started(contender, &summary_file.flags()), group.as_ref(), program));
    }
    std::thread::sleep(SETTLE);
    let foreground = server.foreground(args.common.seed, round);
    let foreground = contender.has_foreground().then_some(&foreground);
    let window = Window { warmup: nanos(args.warmup_s(contender)), length: nanos(args.common.seconds) };
    let mut watch = Watch::begin(clock::now());
    let (around, served) = (Around::begin(), server.cpu_time());
    let mut run =
        trial::run(foreground, job, window, program, &mut |tick| watch.look(clock::now(), tick.background))?;
    let frozen = group.as_ref().and_then(CpuGroup::frozen);
    let served_s = server.cpu_time().since(served).as_secs_f64();
    run.disturbance = around.end().and_then(|spent| {
        let asked_s = run.foreground.as_ref().map_or(Some(0.0), |report| Some(report.cpu_ns? as f64 / 1e9));
        // Shell loops end by a signal, their processes unwaited for; so what was seen of them stands for all
        // of their life.
        let background_s = watch.background_cpus().map(|cpus| cpus * spent.elapsed.as_secs_f64());
        spent.beside(asked_s.map(|asked_s| asked_s + served_s), background_s)
    });
    let is_cold = cached < COLD || !contender.has_background();
    if !is_cold {
        run.notes.push(format!("{:.0}% of a tree was cached when it began", cached * 100.0));
    }
    run.note_given_up();
    if run.foreground.as_ref().is_some_and(|report| report.requests == 0) {
        run.notes.push(
            "no request of the foreground ended in the counted time: a longer one is needed".to_owned(),
        );
    }
    if run.background.as_ref().is_some_and(|background| background.bytes == 0) {
        run.notes.push("the background got nothing done that could be counted".to_owned());
    }
    let (mut summary, was_controlled) = summary_file.of(contender, &mut run.notes);
    let told_s = |name: &str| Some(summary.as_ref()?.get(name)?.as_f64()? / 1e9);
    (run.held_s, run.controlled_s) = match frozen {
        Some((frozen, all)) => (Some(frozen.as_secs_f64()), Some(all.as_secs_f64())),
        None => (told_s("held_ns"), told_s("wall_ns")),
    };
    if let Some(summary) = summary.as_mut().and_then(serde_json::Value::as_object_mut) {
        // The run has it.
        summary.remove("command");
    }
    places.clear()?;
    let selected = scheduler.iter().map(|guard| guard.typed(contender.scheduler().unwrap_or_default()));
    let grouped = group.iter().flat_map(|group| group.typed().iter().cloned());
    let ended = run.foreground.as_ref().map_or(Nanos::MAX, |report| Nanos(report.ended_ns));
    Ok(Run {
        control: selected.chain(grouped).collect(),
        server: foreground.map(|_| server.commands().to_vec()).unwrap_or_default(),
        summary,
        counted_by: contender.has_background().then(|| case::counted_by(work).to_owned()),
        over_time: watch.until(ended),
        counted: is_cold && was_controlled,
        ..run
    })
}

#[cfg(test)]
mod tests;
