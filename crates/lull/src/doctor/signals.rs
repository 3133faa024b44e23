//! What becomes of a trapped call when a signal comes before lull has it, tried: the programs are loaded and go again.

use lull_bpf::{Job, Restart};
use lull_linux::probe::Facts;
use serde::Serialize;

use super::page::{Page, Tone};

/// The outcome.
#[derive(Debug, Serialize)]
pub(super) struct Signals {
    /// Whether such a call is made again.
    calls_restart: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Signals {
    /// Tries; `None` where no call is trapped.
    pub(super) fn look(facts: &Facts) -> Option<Self> {
        if !facts.seccomp.usable() {
            return None;
        }
        let why = Restart::load(Job::default()).err().map(|error| error.to_string());
        Some(Self { calls_restart: why.is_none(), why })
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page) {
        match &self.why {
            None => page.line("signals", Tone::Good, "a trapped call that one ends is made again"),
            Some(why) => page.line("signals", Tone::Fair, why),
        }
    }
}
