//! The marks that the job carries.

use lull_linux::marks::{Mark, MarkSet};

use super::settings::RunSettings;

/// Every mark that only lowers; what the kernel refuses is left out by itself.
pub(crate) const MARKS: [Mark; 5] =
    [Mark::IoprioIdle, Mark::SchedIdle, Mark::Nice, Mark::OomScore, Mark::TimerSlack];
/// Those that lower nobody's share.
const NEUTRAL_MARKS: [Mark; 1] = [Mark::OomScore];

/// Those of a run that is set so.
pub(crate) fn marks(settings: &RunSettings) -> MarkSet {
    match settings.asked.protection.policy.marks_job() {
        true => MARKS.into_iter().collect(),
        false => NEUTRAL_MARKS.into_iter().collect(),
    }
}
