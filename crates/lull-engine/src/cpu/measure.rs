//! The user's own measure of the foreground, by which the CPUs are lent in place of its bursts.

use lull_core::{Nanos, Reading, TrialSetting};

/// Somebody who knows what the user cares about.
pub trait UserMeasure: Send {
    /// For a person.
    fn name(&self) -> &str;

    /// How to compare by it.
    fn trial(&self) -> TrialSetting;

    /// The values so far, beside the work that the job has done.
    fn reading(&self, work: Nanos) -> Reading;
}
