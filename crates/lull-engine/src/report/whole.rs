//! What the foreground lost on all resources together, against the one promise.

use serde::{Deserialize, Serialize};

use crate::report::figures::verdict;

/// One resource's part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LostPart {
    /// A disk's name, or `cpu`.
    pub resource: String,
    /// Share of the time in which the foreground was at work on any resource.
    pub lost: f64,
}

/// The whole, in shares of that time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WholeSummary {
    /// Over the whole run and in the worst window.
    pub lost: f64,
    /// See `lost`.
    pub lost_worst: f64,
    /// What each resource took of it.
    pub parts: Vec<LostPart>,
    /// Whether that was no more than promised; `None` when neither is proved.
    pub kept: Option<bool>,
}

impl WholeSummary {
    /// Whether the promise was kept, when what was booked says so or not: something has to be known of every part, and a
    /// loss beyond the promise has to be proved.
    pub fn keeps(is_within: bool, is_known: bool, is_refuted: bool) -> Option<bool> {
        match is_within {
            true => is_known.then_some(true),
            false => is_refuted.then_some(false),
        }
    }

    /// What was lost against what was promised, for a person.
    pub fn sentence(&self, promised: f64) -> String {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let resources =
            |tell: &dyn Fn(&LostPart) -> String| self.parts.iter().map(tell).collect::<Vec<_>>().join(", ");
        // What is booked with caution is no finding.
        let finding = if self.kept.is_none() {
            let names = resources(&|part| part.resource.clone());
            format!("what the foreground lost is not known well enough ({names})")
        } else {
            let parts = resources(&|part| format!("{} {}", part.resource, percent(part.lost)));
            let (lost, worst) = (percent(self.lost), percent(self.lost_worst));
            format!("the foreground lost {lost} of its time ({parts}), {worst} in the worst minute")
        };
        format!("{finding}; at most {} is promised over all: {}", percent(promised), verdict(self.kept))
    }
}

#[cfg(test)]
mod tests;
