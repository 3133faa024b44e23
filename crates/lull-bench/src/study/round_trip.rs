//! The delay that background traffic adds to round trips on a link.
//!
//! Measured by [probes](crate::load::net::probe) beside a transfer. Questions and answers are round trips
//! themselves: their percentiles are those of the latency, so only what is added to them is told here.

use serde::{Deserialize, Serialize};

use super::rounds::{Figure, Round, p99_ns, plain};
use crate::load::Latency;
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

fn probed(run: &Run) -> Option<Latency> {
    let probe = run.foreground.as_ref()?.probe.as_deref();
    probe.filter(|probe| probe.sent > 0).map(|probe| probe.latency)
}

/// Those of a contender; none where nothing measured any.
pub(super) fn round_trips(name: &str, rounds: &[Round<'_>]) -> Option<RoundTrips> {
    const P50: Figure = |run| Some(probed(run)?.p50_ns as f64);
    const P99: Figure = |run| Some(probed(run)?.p99_ns as f64);
    let any = |run: &Run| {
        P99(run).or_else(|| p99_ns(run.foreground.as_ref().filter(|report| report.load == "net-ask")?))
    };
    let added = rounds.iter().filter_map(|round| Some(any(round.get(name)?)? - any(round.get("alone")?)?));
    let found = RoundTrips {
        p50_ns: plain(rounds, name, P50),
        p99_ns: plain(rounds, name, P99),
        added_p99_ns: Summary::of(added),
    };
    (found != RoundTrips::default()).then_some(found)
}

#[cfg(test)]
mod tests;
