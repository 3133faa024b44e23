//! What runs in the foreground of a trial: a load generator that prints its report and ends by itself.

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;

use super::Window;
use crate::beats::Beats;
use crate::process::{Program, words};

/// Period of the reader's reports for live displays.
const PERIOD: &str = "500ms";

/// A load generator that reports what it did in the window.
#[derive(Clone, Debug, Default)]
pub struct Foreground {
    /// What comes before its command line: how it enters a control group or a network.
    pub before: Vec<OsString>,
    /// Arguments of the load, without its times.
    pub load: Vec<OsString>,
    /// When background pauses, if it does.
    pub beats: Option<Beats>,
    /// Whether it says when it is [ready](crate::load::LoadLine::Ready), and the background is to wait for
    /// that.
    pub goes_first: bool,
    /// How long the background works before this one begins, unless it goes first.
    pub lead: Nanos,
}

impl Foreground {
    /// A load with these arguments.
    pub fn of(load: Vec<OsString>) -> Self {
        Self { load, ..Self::default() }
    }

    /// One that reads 4 KiB at random past the page cache, with think times of this mean.
    pub fn reader(file: &Path, think: Nanos, exponential: bool, seed: u64) -> Self {
        let spread = if exponential { "exponential" } else { "fixed" };
        let mut load = words("disk-read --file");
        load.push(file.into());
        load.extend(words(&format!("--think {}ns --spread {spread} --seed {seed}", think.as_nanos())));
        load.extend(words(&format!("--every {PERIOD} --random --direct")));
        Self::of(load)
    }

    /// The same with the seed of a round: the same for every contender in it.
    #[must_use]
    pub fn in_round(&self, seed: u64, round: u32) -> Self {
        let mut seeded = self.clone();
        let seed = seed.wrapping_mul(1_000).wrapping_add(u64::from(round));
        seeded.load.extend(words(&format!("--seed {seed}")));
        seeded
    }

    /// Its command line.
    pub fn argv(&self, window: Window, program: &Program) -> Vec<OsString> {
        let mut argv = self.before.clone();
        argv.extend(program.load_argv(&self.load));
        if let Some(beats) = self.beats {
            argv.extend(words(&format!("--beat {}ns", beats.length().as_nanos())));
        }
        let (warmup, seconds) = (window.warmup.as_nanos(), window.length.as_secs_f64());
        argv.extend(words(&format!("--warmup {warmup}ns --seconds {seconds} --json")));
        argv
    }
}
