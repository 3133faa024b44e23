//! Thresholds that are changed while the job runs: between who is asked and who keeps to them.

use lull_core::MemoryThresholds;

/// What became of thresholds that were passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed {
    /// They are in force.
    InForce,
    /// They will be, when this, for a person, is so.
    Waits(String),
    /// Nobody takes them any more.
    ToNobody,
}

/// Passes thresholds on to who keeps to them.
pub type Setter = Box<dyn Fn(MemoryThresholds) -> Passed + Send>;
