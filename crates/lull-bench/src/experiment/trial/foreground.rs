//! What runs in the foreground of a trial: a load generator that prints its report and ends by itself.

use std::ffi::OsString;
use std::path::PathBuf;

use lull_core::Nanos;

use super::Window;
use crate::beats::Beats;
use crate::process::Program;

/// Period of the foreground's reports for live displays.
const PERIOD: &str = "500ms";

/// A load generator that reports what it did in the window.
pub trait Foreground {
    /// Its command line.
    fn argv(&self, window: Window, program: &Program) -> Vec<OsString>;

    /// When background pauses, if it does: the load was told so in its command line.
    fn beats(&self) -> Option<Beats> {
        None
    }

    /// Whether it says when it is [ready](crate::load::LoadLine::Ready), and the background is to wait for that.
    fn goes_first(&self) -> bool {
        false
    }

    /// How long the background works before this one begins, unless it goes first.
    fn lead(&self) -> Nanos {
        Nanos::ZERO
    }
}

impl Window {
    /// The window as arguments of a load generator.
    pub fn args(self) -> Vec<OsString> {
        let (warmup, seconds) = (self.warmup.as_nanos(), self.length.as_secs_f64());
        ["--warmup".to_owned(), format!("{warmup}ns"), "--seconds".to_owned(), seconds.to_string()]
            .map(OsString::from)
            .to_vec()
    }
}

/// The foreground: arguments of `load disk-read`, without times.
#[derive(Clone, Debug)]
pub struct Reader {
    /// What it reads.
    pub file: PathBuf,
    /// Mean think time.
    pub think: Nanos,
    /// Whether think times are exponential.
    pub exponential: bool,
    /// Seed of its positions and think times.
    pub seed: u64,
}

impl Foreground for Reader {
    fn argv(&self, window: Window, program: &Program) -> Vec<OsString> {
        let spread = if self.exponential { "exponential" } else { "fixed" };
        let mut args: Vec<OsString> =
            vec!["disk-read".into(), "--file".into(), self.file.clone().into_os_string()];
        for (flag, value) in [
            ("--think", format!("{}ns", self.think.as_nanos())),
            ("--spread", spread.to_owned()),
            ("--seed", self.seed.to_string()),
            ("--every", PERIOD.to_owned()),
        ] {
            args.extend([flag.into(), value.into()]);
        }
        args.extend(window.args());
        args.extend(["--random", "--direct", "--json"].map(OsString::from));
        program.load_argv(args)
    }
}
