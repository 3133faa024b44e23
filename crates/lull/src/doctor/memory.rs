//! What becomes of a large job's memory here: from the facts alone, nothing is loaded.

use lull_linux::probe::{CgroupFacts, Facts};
use serde::Serialize;

use super::page::{Page, Tone};
use lull_engine::memory::aim::LARGE_BYTES;

/// The release that can tell how much of a file is cached: cachestat(2).
const CACHESTAT: (u32, u32) = (6, 5);

/// The findings.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// Why what the job reads stays in the page cache; `None`: it does not.
    cache_stays: Option<String>,
    /// By what the job's memory is taken for the foreground.
    by: String,
    /// Whether the job has a memory group of its own.
    has_group: bool,
    /// Whether the job's memory is managed at all.
    is_managed: bool,
    /// Whether there is somewhere for what the job computed: only pages of files can be taken otherwise.
    has_swap: bool,
}

impl Memory {
    /// From the facts.
    pub(super) fn of(facts: &Facts) -> Self {
        let is_managed = facts.cgroups.v2.as_ref().is_some_and(|v2| v2.child.works());
        let lacks = if !facts.bpf.usable() {
            Some("BPF programs cannot be loaded (see the sensor above)")
        } else if !is_managed {
            Some("no cgroup v2 group can be made, by which the job's pages are told")
        } else if !facts.kernel.at_least(CACHESTAT.0, CACHESTAT.1) {
            Some("this kernel does not tell what of a file is cached (Linux 6.5 does)")
        } else if !facts.user.has("CAP_DAC_READ_SEARCH") {
            Some("files are opened by number, which needs root (CAP_DAC_READ_SEARCH)")
        } else {
            None
        };
        let has_group = facts.cgroups.accounting().is_some();
        let has_swap = facts.cpu.swap_bytes > 0;
        Self {
            cache_stays: lacks.map(str::to_owned),
            by: by(&facts.cgroups),
            has_group,
            is_managed,
            has_swap,
        }
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page) {
        page.section("Memory: what a large job leaves to others");
        let text =
            format!("by default, once the job is a second old and has {} MiB in memory", LARGE_BYTES >> 20);
        page.line("begins", Tone::Good, &text);
        match &self.cache_stays {
            None => {
                let text = "left as it was: what the job brings in goes again, what it writes is written in the gaps";
                page.line("page cache", Tone::Good, text);
            }
            Some(why) if self.has_group => {
                let text = format!("the job's pages stay while it runs, and go when it has ended: {why}");
                page.line("page cache", Tone::Fair, &text);
            }
            Some(why) => page.line("page cache", Tone::Bad, &format!("the job's pages stay: {why}")),
        }
        let tone = if self.has_group && self.has_swap { Tone::Good } else { Tone::Fair };
        let (tone, text) = match (self.is_managed, self.has_swap) {
            (true, true) => (tone, format!("given to the foreground: by {}", self.by)),
            (true, false) => (
                tone,
                format!("without swap only pages of files are given to the foreground: by {}", self.by),
            ),
            (false, _) => (Tone::Bad, "left to the kernel: no cgroup v2 group can be made".to_owned()),
        };
        page.line("working set", tone, &text);
    }
}

/// By what memory is taken, and which way the job's group goes.
fn by(cgroups: &CgroupFacts) -> String {
    let inside = cgroups.v2.as_ref().and_then(|v2| v2.inside.as_ref());
    match (cgroups.accounting(), inside) {
        (Some(group), _) if group.version == 2 => match &group.above {
            Some(place) => format!("memory.high of its group, made in {}", place.display()),
            None => "memory.high of its group".to_owned(),
        },
        (Some(_), _) => "process_madvise, and the limit of its version 1 group".to_owned(),
        (None, Some(why)) => {
            format!(
                "process_madvise, since no memory controller is handed down here; a group higher up cannot be: {why}"
            )
        }
        (None, None) => "process_madvise, since no memory controller is handed down here".to_owned(),
    }
}

#[cfg(test)]
mod tests;
