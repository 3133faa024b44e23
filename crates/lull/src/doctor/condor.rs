//! HTCondor on this machine, and whether lull has been installed into it.

use serde::Serialize;

use super::page::{Page, Tone};
use crate::condor::install::{Installed, look};
use crate::guests::below::EVERYBODY;

/// What is to be done where guests are not below everybody.
const ADVICE: &str = "lull condor install keeps guests below everybody where HTCondor's master is root's and its slots' groups are at the top, or none: docs/condor.md";

/// Nothing is said where there is no HTCondor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Condor(Installed);

impl Condor {
    pub(super) fn look() -> Option<Self> {
        look().map(Self)
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page) {
        let Installed { version, executes, policy, below, warnings } = &self.0;
        page.section("HTCondor: guests on this node");
        let role = if *executes { "runs guests" } else { "runs no guests: no STARTD in DAEMON_LIST" };
        page.line("version", Tone::Plain, &format!("{version}, {role}"));
        match (policy, executes) {
            (Some(policy), _) => {
                let text = format!("installed: {policy}; lull condor status shows what guests do");
                page.line("lull", if warnings.is_empty() { Tone::Good } else { Tone::Bad }, &text);
            }
            (None, true) => {
                let text =
                    "not installed: guests do what HTCondor's own policy says (sudo lull condor install)";
                page.line("lull", Tone::Fair, text);
            }
            (None, false) => page.line("lull", Tone::Plain, "not installed"),
        }
        match below.as_deref() {
            Some(EVERYBODY) => {
                page.line("guests' class", Tone::Good, "idle: everybody comes first on the CPUs")
            }
            Some(whom) => {
                let text = format!("idle among {whom} only; to others guests are as good as any");
                page.line("guests' class", Tone::Bad, &text);
                page.line("", Tone::Plain, ADVICE);
            }
            None if *executes => page.line("guests' class", Tone::Plain, "told while a guest runs"),
            None => {}
        }
        for warning in warnings {
            page.line("", Tone::Bad, warning);
        }
    }
}

#[cfg(test)]
mod tests;
