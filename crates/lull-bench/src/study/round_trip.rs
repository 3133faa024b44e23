//! The delay that background traffic adds to round trips on a link.
//!
//! Measured by [probes](crate::load::net::probe) beside a transfer. Questions and answers are round trips themselves: their
//! percentiles are those of the latency, so only what is added to them is told here.

use serde::{Deserialize, Serialize};

use super::{Rank, Round, latency, rank_of};
use crate::record::Run;
use crate::stats::Summary;

/// Round trips under one contender, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// The median; none where the latency is that of round trips.
    pub p50_ns: Option<Summary>,
    /// The 99th percentile; likewise.
    pub p99_ns: Option<Summary>,
    /// The 99th percentile less that of `alone` in the same round; negative where it was less.
    pub added_p99_ns: Option<Summary>,
}

/// Those of a contender; none where nothing measured any.
pub(super) fn round_trips(name: &str, rounds: &[Round<'_>]) -> Option<RoundTrips> {
    let of = |figure: &dyn Fn(&Run) -> Option<f64>| {
        Summary::of(rounds.iter().filter_map(|round| figure(round.get(name)?)))
    };
    let probed = |run: &Run, rank| {
        let latency = run.foreground.as_ref()?.probe.as_deref().filter(|probe| probe.sent > 0)?.latency;
        Some(rank_of(&latency, rank))
    };
    let any = |run: &Run| {
        let report = run.foreground.as_ref()?;
        probed(run, Rank::P99).or_else(|| latency(report, Rank::P99).filter(|_| report.load == "net-ask"))
    };
    let added = rounds.iter().filter_map(|round| Some(any(round.get(name)?)? - any(round.get("alone")?)?));
    let found = RoundTrips {
        p50_ns: of(&|run| probed(run, Rank::P50)),
        p99_ns: of(&|run| probed(run, Rank::P99)),
        added_p99_ns: Summary::of(added),
    };
    (found != RoundTrips::default()).then_some(found)
}

#[cfg(test)]
mod tests;
