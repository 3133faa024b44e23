//! Whose queue may be arranged: `--qdisc`.

use std::str::FromStr;

use lull_linux::gate::qdisc::QdiscPlan;

/// `--qdisc` without a value.
pub(crate) const DEFAULT_ROUTE: &str = "default-route";

/// Whose queue may be arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QdiscChoice {
    /// That of the interfaces that lead to everywhere.
    DefaultRoute,
    /// That of this one.
    On(QdiscPlan),
}

impl FromStr for QdiscChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            DEFAULT_ROUTE => Ok(Self::DefaultRoute),
            text => text.parse().map(Self::On),
        }
    }
}
