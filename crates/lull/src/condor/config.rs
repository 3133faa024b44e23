//! What `lull condor install` writes, as text.
//!
//! Two files: one of configuration, and the job wrapper, which HTCondor wants as a program without arguments. Words of the administrator are
//! kept: START stays as strict as it was, lists are added to, a job wrapper that was there is called by ours.
//!
//! The wrapper fails open: where lull cannot be executed at all, it lowers its own priority by util-linux, as far as that is there, and
//! becomes the guest.

use std::fmt::Write;
use std::path::Path;

use lull_core::Nanos;
use lull_core::linger::classad::Terms;
use lull_core::linger::episode::OwnerSetting;

/// The first line of both files: only what begins like this is ever replaced or removed.
pub(super) const MARK: &str = "# Written by lull condor install";

/// With which arguments the publisher is run.
pub(super) const ARGS: &str = "STARTD_CRON_LULL_ARGS";

/// Attributes of a guest that the rule asks for and that its slot's ad does not have by itself.
const OF_THE_GUEST: [&str; 5] =
    ["SuccessCheckpointExitCode", "LullSavesEvery", "LullWork", "DiskUsage", "TransferInputSizeMB"];

/// All that the files depend on.
#[derive(Clone, Debug)]
pub(super) struct Config<'a> {
    pub(super) program: &'a Path,
    pub(super) wrapper: &'a Path,
    pub(super) terms: Terms,
    pub(super) owner: OwnerSetting,
    pub(super) period: Nanos,
    /// Whether guests are kept below everybody on the CPUs, by a daemon of HTCondor's master.
    pub(super) below: bool,
    /// A job wrapper that was there.
    pub(super) wrapped: Option<String>,
}

impl Config<'_> {
    /// The file of configuration.
    pub(super) fn file(&self) -> String {
        let mut text = format!(
            "{MARK} --policy {} (lull {}); lull condor uninstall removes it.\n\
             # Guests on this node: see lull's docs/condor.md.\n\n",
            self.terms.policy,
            env!("CARGO_PKG_VERSION")
        );
        let mut line = |name: &str, value: &str| {
            // Writing to a text never fails.
            let _ = writeln!(text, "{name} = {value}");
        };
        let publish = format!(
            "condor publish --policy {} --busy {} --away-after {} --period {} --restart {}",
            self.terms.policy,
            percent(self.owner.busy),
            self.owner.away_after,
            self.period,
            self.terms.restart
        );
        line("STARTD_CRON_JOBLIST", "$(STARTD_CRON_JOBLIST) LULL");
        line("STARTD_CRON_LULL_EXECUTABLE", &self.program.display().to_string());
        line(ARGS, &publish);
        // It runs on; should it end, it is started again after this time.
        line("STARTD_CRON_LULL_MODE", "WaitForExit");
        line("STARTD_CRON_LULL_PERIOD", "5s");
        line("STARTD_CRON_LULL_KILL", "True");
        // It is told when the configuration was read again, and ends if its arguments have changed.
        line("STARTD_CRON_LULL_RECONFIG", "True");
        if self.below {
            line("LULL_BELOW", &self.program.display().to_string());
            line("LULL_BELOW_ARGS", "condor below");
            line("DAEMON_LIST", "$(DAEMON_LIST) LULL_BELOW");
        }
        line("USER_JOB_WRAPPER", &self.wrapper.display().to_string());
        line("STARTD_JOB_ATTRS", &format!("$(STARTD_JOB_ATTRS) {}", OF_THE_GUEST.join(" ")));
        let attributes = self.terms.attributes();
        for (name, value) in &attributes {
            line(name, value);
        }
        let names: Vec<&str> = attributes.iter().map(|(name, _)| *name).collect();
        line("STARTD_ATTRS", &format!("$(STARTD_ATTRS) {}", names.join(" ")));
        for (name, value) in self.terms.expressions() {
            line(name, &value);
        }
        // Where the negotiator runs: which node a guest is given.
        line("NEGOTIATOR_PRE_JOB_RANK", &self.terms.preference());
        text
    }

    /// The job wrapper.
    pub(super) fn wrapper(&self) -> String {
        let lull = quoted(&self.program.display().to_string());
        let guest = self
            .wrapped
            .as_ref()
            .map_or_else(|| "\"$@\"".to_owned(), |before| format!("{} \"$@\"", quoted(before)));
        format!(
            "#!/bin/sh\n\
             {MARK}: HTCondor starts each guest by this.\n\
             lull={lull}\n\
             \"$lull\" condor guest --help >/dev/null 2>&1 && exec \"$lull\" condor guest --quiet -- {guest}\n\
             # There is no lull that can: the guest runs at low priority alone.\n\
             chrt -i -p 0 $$ >/dev/null 2>&1 || renice -n 19 -p $$ >/dev/null 2>&1\n\
             ionice -c 3 -p $$ >/dev/null 2>&1\n\
             exec {guest}\n"
        )
    }
}

/// For a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// Whether a file is one of these.
pub(super) fn is_ours(text: &str) -> bool {
    text.lines().take(2).any(|line| line.starts_with(MARK))
}

#[cfg(test)]
mod tests;
