//! `lull bench memory --figures`: the tables and figures of the Linger paper that are about memory, from this
//! machine.
//!
//! | name | paper | here |
//! |---|---|---|
//! | `tables` | tables 2 and 3: when a host and a guest with 128 MB each are done on a machine of 192 MB | `tables` |
//! | `fig4` | figure 4: what both have in memory over time, between two thresholds | `over_time` |
//! | `fig5` | figure 5: the host's delay over the number of pages taken from the guest at a time | `batch` |
//!
//! The small machine is the one of the other cases: a limited memory group and a swap file. Sizes are those
//! of the paper, times are not: a machine of today does the paper's 82 s of work in less, so the work is
//! given as the time that it takes alone, and a run is given up after a multiple of it where the paper waited
//! for five hours. Values are kept run by run in CSV files, pictures and `linger.md` are made from them
//! (`report`).
//!
//! Source: Ryu, Hollingsworth, Keleher, "Mechanisms and Policies for Supporting Fine-Grained Cycle Stealing",
//! ICS 1999, sections 4.1 and 4.2.

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;

use super::args::{MemoryArgs, MemoryFigure};
use super::{LimitedGroup, case, dirty_bounds, wrapped};
use crate::contender::Contender;
use crate::contender::setting::{DirtyGuard, PROC_VM, SwapFile};
use crate::error::Context;
use crate::experiment::SETTLE;
use crate::experiment::summary::SummaryFile;
use crate::process::Program;
use crate::units::{Bytes, nanos};
use crate::{Error, stop};

mod batch;
mod charts;
mod over_time;
mod page;
mod race;
mod report;
mod tables;

use page::Page;
use race::{Party, Race, Raced};

/// Measures what was asked for, and writes what was measured, also after an interruption.
pub(super) fn run(
    args: &MemoryArgs,
    figures: &[MemoryFigure],
    program: &Program,
    directory: &Path,
) -> Result<(), Error> {
    let out = &args.common.out;
    std::fs::create_dir_all(out).at("create", out)?;
    let bench = Bench { args, program, directory };
    let (host, _awake) = args.common.prepare(directory, program);
    let mut page = Page { host, scale: args.scale, rounds: args.common.rounds, ..Page::default() };
    let measured = figures.iter().try_for_each(|figure| match figure {
        MemoryFigure::Tables => bench.tables(&mut page),
        MemoryFigure::Fig4 => bench.over_time(&mut page),
        MemoryFigure::Fig5 => bench.batches(&mut page),
    });
    let written = report::write(out, &page, args.common.json, &mut std::io::stdout().lock());
    measured.and(written)?;
    if page.is_empty() {
        let detail = "every figure was left out; the reasons are above".to_owned();
        return Err(Error::Unmet { what: "anything to draw".to_owned(), detail });
    }
    Ok(())
}

/// What all figures share.
struct Bench<'a> {
    args: &'a MemoryArgs,
    program: &'a Program,
    directory: &'a Path,
}

/// A party of a race: arguments of its working set, and its control.
type Entry<'a> = (&'a [OsString], Contender);

impl Bench<'_> {
    /// Divided as the user asked.
    fn scaled(&self, bytes: u64) -> u64 {
        bytes / self.args.scale
    }

    /// The same work for every row and point: the requests that a host makes alone in the time that was asked
    /// for.
    fn work(&self) -> Nanos {
        nanos(self.args.figures.work)
    }

    /// How long a party may take.
    fn limit(&self) -> Nanos {
        nanos(self.args.figures.work * self.args.figures.patience)
    }

    /// Swap for as long as the value lives; what is missing is told and noted.
    fn swap(&self, what: &str, page: &mut Page) -> Option<SwapFile> {
        let made = SwapFile::add(self.directory, case::SWAP)
            .and_then(|swap| LimitedGroup::create(None, Bytes(64 * Bytes::MIB)).map(|_| swap));
        made.map_err(|error| missing(page, what, &error.to_string())).ok()
    }

    /// Whether a control can be had here; if not, that is told and noted.
    fn has(&self, what: &str, contender: &Contender, page: &mut Page) -> bool {
        let obstacle = self.args.common.started(contender, &[], Nanos::ZERO).obstacle(None, self.program);
        if let Some(detail) = &obstacle {
            missing(page, &format!("{what}, {}", contender.name()), detail);
        }
        obstacle.is_none()
    }

    /// One race on a small machine of its own; none, noted, if it measured something else.
    fn race(
        &self,
        what: &str,
        parties: &[Option<Entry<'_>>; 2],
        race: Race,
        page: &mut Page,
    ) -> Result<Option<Raced>, Error> {
        let _dirty = DirtyGuard::set(Path::new(PROC_VM), dirty_bounds(self.args.scale, &Contender::Alone))?;
        // Dropped after everything that runs in it.
        let machine = LimitedGroup::create(None, Bytes(self.scaled(case::SMALL)))?;
        let summary_file = SummaryFile::create(&self.args.common.out)?;
        let party = |(load, contender): &Entry<'_>| {
            let load = self.program.load_argv(*load);
            let control = self.args.common.started(contender, &summary_file.flags(), Nanos::ZERO);
            let argv = wrapped(Some(&machine), control.wrap(load.clone(), self.program));
            Party { load, argv }
        };
        std::thread::sleep(SETTLE);
        let raced = race.run(&parties.each_ref().map(|entry| entry.as_ref().map(party)));
        let raced = match raced {
            Ok(raced) => raced,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => {
                // Which command it was, its round says.
                let detail =
                    if let Error::Process { problem, .. } = error { problem } else { error.to_string() };
                missing(page, what, &detail);
                return Ok(None);
            }
        };
        let mut notes = Vec::new();
        let [_, guest] = parties;
        let had =
            guest.as_ref().is_none_or(|(_, contender)| summary_file.had(contender, "memory", &mut notes));
        if !had {
            missing(page, what, &notes.join("; "));
        }
        Ok(had.then_some(raced))
    }
}

fn missing(page: &mut Page, what: &str, detail: &str) {
    eprintln!("  not measured: {what}: {detail}");
    page.missing.push(format!("{what}: {detail}"));
}

/// The order of one round's runs.
fn shuffled(count: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let seed = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(round));
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    order
}

/// Refuses an interrupted measurement, and tells where it is.
fn begin(what: &str) -> Result<(), Error> {
    stop::check()?;
    eprintln!("{what}");
    Ok(())
}
