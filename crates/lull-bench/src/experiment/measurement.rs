//! What all experiments do alike: prepare the machine, find out who can run, run everybody in rounds, report.

use std::path::Path;

use lull_core::Nanos;

use super::args::Common;
use super::awake::Awake;
use super::ledger::Ledger;
use crate::contender::Contender;
use crate::contender::scheduler::{SYS_BLOCK, SchedulerGuard};
use crate::error::Context;
use crate::process::Program;
use crate::record::{Host, Run};
use crate::{Error, stop};

/// What a measurement runs with.
#[derive(Debug)]
pub struct Setup<'a> {
    /// What every experiment was asked.
    pub common: &'a Common,
    /// The program whose loads and runs are started.
    pub program: Program,
    /// The disk behind the directory of the work, if it is a single one.
    pub disk: Option<String>,
    /// smart's monitoring window.
    pub smart_window: Nanos,
}

impl Setup<'_> {
    /// The contender that is started, see [`Common::started`].
    pub fn started(&self, contender: &Contender, first: &[String]) -> Contender {
        self.common.started(contender, first, self.smart_window)
    }

    /// Selects the scheduler that a contender needs, or else this one, for `disk` or else the disk of the
    /// work.
    ///
    /// # Errors
    /// When it cannot be selected.
    pub fn select(
        &self,
        contender: &Contender,
        otherwise: Option<&str>,
        disk: Option<&str>,
    ) -> Result<Option<SchedulerGuard>, Error> {
        let wanted = contender.scheduler().or(otherwise);
        let both = wanted.zip(disk.or(self.disk.as_deref()));
        both.map(|(wanted, disk)| SchedulerGuard::select(Path::new(SYS_BLOCK), disk, wanted)).transpose()
    }
}

/// A measurement, from its first run to its report.
#[derive(Debug)]
pub struct Measurement<'a> {
    /// What it runs with.
    pub setup: Setup<'a>,
    /// What it has recorded.
    pub ledger: Ledger,
    _awake: Awake,
}

impl<'a> Measurement<'a> {
    /// Begins one, whose work is in `directory`.
    ///
    /// # Errors
    /// When the program that is to be measured cannot be run, or records cannot be written.
    pub fn begin(common: &'a Common, own: &Program, directory: &Path) -> Result<Self, Error> {
        let program = common.program(own)?;
        let (host, awake) = common.prepare(directory, &program);
        Self::with(common, program, host, awake, Ledger::open)
    }

    /// Goes on with one on this host, if there is one.
    pub(super) fn with(
        common: &'a Common,
        program: Program,
        host: Host,
        awake: Awake,
        open: fn(&Path, Host) -> Result<Ledger, Error>,
    ) -> Result<Self, Error> {
        let disk = host.disk.clone();
        let setup = Setup { common, program, disk, smart_window: Nanos::ZERO };
        Ok(Self { setup, ledger: open(&common.out, host)?, _awake: awake })
    }

    /// Those contenders that can run a case on `disk`, or else on the disk of the work; the others are
    /// recorded. `obstacle` is the case's own.
    ///
    /// # Errors
    /// When that cannot be recorded, or after an interruption.
    pub fn able(
        &mut self,
        case: &str,
        among: Vec<Contender>,
        disk: Option<&str>,
        obstacle: impl Fn(&Contender) -> Option<String>,
    ) -> Result<Vec<Contender>, Error> {
        let mut able = Vec::new();
        for contender in among {
            stop::check()?;
            let Setup { program, disk: own, .. } = &self.setup;
            let started = self.setup.started(&contender, &[]);
            match obstacle(&contender).or_else(|| started.obstacle(disk.or(own.as_deref()), program)) {
                None => able.push(contender),
                Some(detail) => self.ledger.unmet(case, Some(&contender), detail)?,
            }
        }
        Ok(able)
    }

    /// Runs every contender once in every round; `run_s` says how long one takes, if that is known.
    ///
    /// # Errors
    /// When a run cannot be recorded, or after an interruption.
    pub fn rounds(
        &mut self,
        case: &str,
        contenders: &[Contender],
        run_s: Option<&dyn Fn(&Contender) -> f64>,
        one: &mut dyn FnMut(&Setup<'_>, &Contender, u32) -> Result<Run, Error>,
    ) -> Result<(), Error> {
        let Self { setup, ledger, .. } = self;
        let Common { seed, rounds, .. } = *setup.common;
        let about = run_s.map(|run_s| contenders.iter().map(run_s).sum::<f64>() * f64::from(rounds));
        let about = about.map(|seconds| format!(", about {seconds:.0} s")).unwrap_or_default();
        eprintln!("{case}: {} contenders, {rounds} rounds{about}", contenders.len());
        ledger.rounds(case, contenders, seed, rounds, &mut |contender, round| one(setup, contender, round))
    }

    /// Removes what is not to stay, then writes and prints the report.
    ///
    /// # Errors
    /// That of the measurement, of removing, of the report, or that nothing was measured.
    pub fn conclude(self, measured: Result<(), Error>, remove: Option<&Path>) -> Result<(), Error> {
        if let Some(directory) = remove {
            std::fs::remove_dir_all(directory).at("remove", directory)?;
        }
        self.setup.common.conclude(measured, &self.ledger)
    }
}
