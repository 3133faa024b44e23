//! How the whole job is held: `--hold`.

use lull_engine::hold_gate::HoldBy;
use serde::Deserialize;

/// How the whole job is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HoldChoice {
    /// By a quota of CPU time, which interrupts no call.
    #[default]
    Quota,
    /// By the freezer, or by stop signals: exact, but blocking calls of the job end early.
    Freeze,
}

impl From<HoldChoice> for HoldBy {
    fn from(choice: HoldChoice) -> Self {
        match choice {
            HoldChoice::Quota => Self::Quota,
            HoldChoice::Freeze => Self::Freeze,
        }
    }
}
