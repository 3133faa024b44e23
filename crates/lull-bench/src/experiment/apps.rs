//! `lull bench apps`: real applications in the foreground, real jobs in the background, every way to control them.
//!
//! ```text
//!  per application: start its server
//!    per background × instances: a case
//!      round 1: lull  alone  smart  nice  solo …     shuffled anew in every round, from the seed
//!      round 2: …                                    each run: one line in raw.jsonl, at once
//!  report: report.html, with everything in it
//! ```
//! The load of the foreground begins together with the background, not after it: controls that learn the foreground first
//! must find it at work. Their warm-up (`--settle`) is by default longer than what the slowest learns from; where it is not, smart's runs say so.
//!
//! A measurement that is killed goes on where it was when it is started again with the same output directory ([`Ledger::resume`]).
//! What makes runs comparable and stands in none of them is in the records' host line; other terms are refused there.
//!
//! | module | idea |
//! |---|---|
//! | [`args`] | what can be asked |
//! | [`packages`] | what has to be installed |
//! | [`server`] | the applications, and what loads them |
//! | [`case`] | the background jobs |
//! | `resume` | what an earlier start has done |
//! | [`watch`] | CPUs and state of the background over time |

use std::path::{Path, PathBuf};

use lull_core::Nanos;

use super::cpu::group_of;
use super::disturbance::Around;
use super::ledger::{Ledger, Plan};
use super::quiet::COLD;
use super::told::{self, Told};
use super::trial::{self, Foreground, Window};
use super::{SETTLE, data_directory};
use crate::contender::Contender;
use crate::contender::group::{self, CpuGroup};
use crate::contender::scheduler::{Guard, SYS_BLOCK};
use crate::error::Context;
use crate::process::{Program, shown};
use crate::record::{Host, Run};
use crate::units::{count, whole};
use crate::{Error, clock, progress, stop};

pub mod args;
pub mod case;
pub mod packages;
mod resume;
pub mod server;
pub mod watch;

pub use args::{App, AppsArgs, Work};

use args::{case_name, name};
use case::Places;
use resume::same_terms;
use server::{Front, Server};
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
    told::sweep(&args.common.out);
    let program = &args.common.program(program)?;
    let terms = args.terms();
    same_terms(&args.common.out, &terms)?;
    let directory = data_directory(&args.dir)?.join("apps");
    std::fs::create_dir_all(&directory).at("create", &directory)?;
    let (host, _awake) = args.common.prepare(&directory, program);
    let host = Host { terms, ..host };
    let disk = host.disk.clone();
    let ledger = Ledger::resume(&args.common.out, host)?;
    let mut bench =
        Bench { args, program, disk, ledger, directory: directory.clone(), contenders: Vec::new() };
    let measured = bench.measure();
    if matches!(measured, Err(Error::Interrupted)) && !bench.contenders.is_empty() {
        eprintln!("interrupted: {}; the same command goes on", bench.state(&args.cases()));
    }
    if args.clean {
        std::fs::remove_dir_all(&directory).at("remove", &directory)?;
    }
    args.common.conclude(measured, &bench.ledger)
}

struct Bench<'a> {
    args: &'a AppsArgs,
    program: &'a Program,
    disk: Option<String>,
    ledger: Ledger,
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
        for contender in args.contenders() {
            stop::check()?;
            match Equipped::of(&contender, args).obstacle(self.disk.as_deref(), self.program) {
                None => {
                    eprintln!("contender {}", Equipped::of(&contender, args).about(self.program));
                    self.contenders.push(contender);
                }
                Some(detail) => self.ledger.unmet("all", Some(&contender), detail)?,
            }
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
        let cases: Vec<(Work, u32)> =
            self.args.jobs().filter(|(work, n)| !self.is_done(&case_name(app, *work, *n))).collect();
        if cases.is_empty() {
            return Ok(());
        }
        let place = self.directory.join(name(&app));
        let lacks = packages::missing(packages::of_app(app));
        if !lacks.is_empty() {
            let detail = format!("not installed; install with: {}", packages::line(&lacks));
            return self.ledger.unmet(&name(&app), None, detail);
        }
        if app == App::Postgres {
            self.sessions()?;
        }
        eprintln!("starting {}", name(&app));
        let mut server = match Server::start(app, self.args, &place) {
            Ok(server) => server,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => return self.ledger.unmet(&name(&app), None, error.to_string()),
        };
        let mut is_new = true;
        for (work, instances) in cases {
            // What one case did to it must not take the others away; and the log of Redis only grows.
            let is_spent = app == App::Redis && !is_new;
            is_new = false;
            if is_spent || server.check().is_err() {
                eprintln!("starting {} again", name(&app));
                drop(server);
                server = match Server::start(app, self.args, &place) {
                    Ok(server) => server,
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(error) => return self.ledger.unmet(&name(&app), None, error.to_string()),
                };
            }
            self.case(&mut server, app, work, instances, places)?;
        }
        drop(server);
        std::fs::remove_dir_all(&place).at("remove", &place)
    }

    /// Records that nice and SCHED_IDLE count only within a session here: each of PostgreSQL's processes begins one, so they hardly tell such a
    /// job from it. That is so for a user as well, and stays as it is.
    fn sessions(&mut self) -> Result<(), Error> {
        if !self.ledger.is_autogrouped() {
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
        self.ledger.unmet(&name(&App::Postgres), None, detail)
    }

    fn case(
        &mut self,
        server: &mut Server,
        app: App,
        work: Work,
        instances: u32,
        places: &Places,
    ) -> Result<(), Error> {
        let case = case_name(app, work, instances);
        let lacks = packages::missing(packages::of_work(work));
        if !lacks.is_empty() {
            let detail = format!("not installed; install with: {}", packages::line(&lacks));
            return self.ledger.unmet(&case, None, detail);
        }
        if let Some(detail) = case::lacks_option(work) {
            return self.ledger.unmet(&case, None, detail);
        }
        if let Some(detail) = case::lacks_room(work, instances, self.args.tree_size, &places.scratch) {
            return self.ledger.unmet(&case, None, detail);
        }
        let (args, program, disk) = (self.args, self.program, self.disk.clone());
        let length = seconds(args.common.seconds);
        eprintln!("{case}: {}", self.state(std::slice::from_ref(&case)));
        let plan =
            Plan { contenders: self.contenders.clone(), seed: args.common.seed, rounds: args.common.rounds };
        self.ledger.rounds(&case, &plan, &mut |contender, round| {
            server.check()?;
            let equipped = Equipped::of(contender, args);
            let window = Window { warmup: seconds(args.warmup_s(contender)), length };
            let front = server.front(args.common.seed, round);
            let (served, job) = ((&*server, &front), (work, instances, places));
            let mut run = one(&equipped, served, job, window, program, disk.as_deref(), &args.common.out)?;
            run.case.clone_from(&case);
            run.notes.extend(args.unlearnt(contender));
            Ok(run)
        })
    }
}

/// A contender with what the arguments add to its command line. Its name in the records stays.
#[derive(Clone, Debug)]
struct Equipped {
    contender: Contender,
    flags: Vec<String>,
}

impl Equipped {
    fn of(contender: &Contender, args: &AppsArgs) -> Self {
        let flags = match contender {
            Contender::Lull(own) => args.common.flags(own).collect(),
            other => other.policy_flags(args.smart_window).into_iter().flatten().collect(),
        };
        Self { contender: contender.clone(), flags }
    }

    /// The contender that is started: lull with these flags after its own.
    fn started(&self, last: &[String]) -> Contender {
        if !self.contender.is_run() {
            return self.contender.clone();
        }
        Contender::Lull([&self.flags, last].concat())
    }

    fn obstacle(&self, disk: Option<&str>, program: &Program) -> Option<String> {
        self.started(&[]).obstacle(disk, program)
    }

    /// The name and the command, for the report.
    fn about(&self, program: &Program) -> String {
        let about = self.started(&[]).about(program);
        let command = about.split_once(": ").map_or(about.as_str(), |(_, command)| command);
        format!("{}: {command}", self.contender.name())
    }
}

/// One contender's run.
fn one(
    equipped: &Equipped,
    (server, front): (&Server, &Front),
    (work, instances, places): (Work, u32, &Places),
    window: Window,
    program: &Program,
    disk: Option<&str>,
    out: &Path,
) -> Result<Run, Error> {
    let contender = &equipped.contender;
    let mut control = Vec::new();
    let _scheduler = match (contender.scheduler(), disk) {
        (Some(wanted), Some(disk)) => {
            let guard = Guard::select(Path::new(SYS_BLOCK), disk, wanted)?;
            control.push(guard.told(wanted));
            Some(guard)
        }
        _ => None,
    };
    places.clear()?;
    // What earlier runs, or the making of the trees, left to be written would be written beside this one.
    nix::unistd::sync();
    let cached = places.chill(work, instances)?;
    // Dropped after everything that runs in it.
    let group: Option<CpuGroup> = group_of(contender, HEADROOM.0, HEADROOM.1)?;
    control.extend(group.iter().flat_map(|group| group.told().iter().cloned()));
    let told = Told::create(out)?;
    let (mut command, mut job, mut keep) = (None, None, None);
    if contender.has_background() {
        let mut prepared = case::prepare(work, instances, places, program)?;
        let mut argv = equipped.started(&told.flags()).wrap(std::mem::take(&mut prepared.argv), program);
        if let Some(group) = &group {
            argv = group.wrap(argv);
        }
        command = Some(shown(&argv));
        let (ready, file) = prepared.job(argv);
        (job, keep) = (Some(ready), file);
    }
    std::thread::sleep(SETTLE);
    let foreground = contender.has_foreground().then_some(front as &dyn Foreground);
    let mut watch = Watch::begin(clock::now());
    let (around, served) = (Around::begin(), server.cpu_time());
    let outcome =
        trial::run(foreground, job, window, program, &mut |tick| watch.look(clock::now(), tick.background))?;
    let frozen = group.as_ref().and_then(CpuGroup::frozen);
    let served_s = server.cpu_time().since(served).as_secs_f64();
    let disturbance = around.end().and_then(|spent| {
        let asked_s =
            outcome.foreground.as_ref().map_or(Some(0.0), |report| Some(report.cpu_ns? as f64 / 1e9));
        // Shell loops end by a signal, their processes unwaited for; so what was seen of them stands for all of their life.
        let background_s = watch.background_cpus().map(|cpus| cpus * spent.elapsed.as_secs_f64());
        spent.beside(asked_s.map(|asked_s| asked_s + served_s), background_s)
    });
    drop(keep);
    let ended = outcome.foreground.as_ref().map_or(Nanos::MAX, |report| Nanos(report.ended_ns));
    let mut notes = outcome.notes;
    let is_cold = cached < COLD || !contender.has_background();
    if !is_cold {
        notes.push(format!("{:.0}% of a tree was cached when it began", cached * 100.0));
    }
    if let Some(report) = outcome.foreground.as_ref().filter(|report| report.unfinished > 0) {
        notes.push(format!("{} requests were given up, so latencies are underestimated", report.unfinished));
    }
    if outcome.foreground.as_ref().is_some_and(|report| report.requests == 0) {
        notes.push(
            "no request of the foreground ended in the counted time: a longer one is needed".to_owned(),
        );
    }
    if outcome.background.as_ref().is_some_and(|background| background.bytes == 0) {
        notes.push("the background got nothing done that could be counted".to_owned());
    }
    let (mut summary, was_controlled) = told.of(contender, &mut notes);
    let told_s = |name: &str| Some(summary.as_ref()?.get(name)?.as_f64()? / 1e9);
    let (held_s, controlled_s) = match frozen {
        Some((frozen, all)) => (Some(frozen.as_secs_f64()), Some(all.as_secs_f64())),
        None => (told_s("held_ns"), told_s("wall_ns")),
    };
    if let Some(summary) = summary.as_mut().and_then(serde_json::Value::as_object_mut) {
        // The run has it.
        summary.remove("command");
    }
    places.clear()?;
    Ok(Run {
        contender: contender.name(),
        command,
        control,
        foreground_command: foreground.map(|foreground| shown(&foreground.argv(window, program))),
        server: foreground.map(|_| server.commands().to_vec()).unwrap_or_default(),
        summary,
        foreground: outcome.foreground,
        background: outcome.background,
        counted_by: contender.has_background().then(|| case::counted_by(work).to_owned()),
        disturbance,
        over_time: watch.until(ended),
        held_s,
        controlled_s,
        counted: is_cold && was_controlled,
        notes,
        ..Run::default()
    })
}

fn seconds(value: f64) -> Nanos {
    Nanos(whole(value * 1e9))
}

#[cfg(test)]
mod tests;
