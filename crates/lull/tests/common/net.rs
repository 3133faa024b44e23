//! A test network of two hosts.

use lull_bench::netbed::{self, Bed, LinkPlan};

/// Megabits per second of its link.
pub(crate) const RATE_MBIT: u32 = 100;

/// A new network; none, said aloud, where none can be made.
pub(crate) fn bed() -> Option<Bed> {
    if !super::needs_root() {
        return None;
    }
    if let Some(why) = netbed::obstacle() {
        eprintln!("SKIPPED: {why}");
        return None;
    }
    Some(Bed::build(&LinkPlan::of_rate(RATE_MBIT)).unwrap())
}
