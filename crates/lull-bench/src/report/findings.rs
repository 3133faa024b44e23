//! What records of applications say, and the words for it that both reports share.

use serde::{Deserialize, Serialize};

use crate::record::Record;
use crate::study::Study;
use crate::study::observations::{self, Observation};
use crate::study::pairs::{Pair, Standing};

/// What the records say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Every pair of application and job.
    pub pairs: Vec<Pair>,
    /// The observations of the `smart` paper.
    pub observations: Vec<Observation>,
}

impl Findings {
    /// None if the records are of other experiments.
    pub fn of(study: &Study, records: &[Record]) -> Option<Self> {
        let pairs = Pair::all(study, records);
        let observations = observations::of(&pairs, records).to_vec();
        (!pairs.is_empty()).then_some(Self { pairs, observations })
    }

    /// Rounds of the pair that has the fewest.
    pub(super) fn fewest(&self) -> usize {
        self.pairs.iter().map(|pair| pair.rounds).min().unwrap_or(0)
    }
}

/// What the tail of a pair's latencies is called.
pub(super) const fn tail(pair: &Pair) -> &'static str {
    if pair.few_requests.is_some() { "longest" } else { "p99" }
}

/// What a reader of a pair with few requests should know.
pub(super) fn few_requests(pair: &Pair) -> Option<String> {
    let requests = pair.few_requests?;
    Some(format!(
        "A run has about {requests} requests, too few for a 99th percentile: what stands for it is the longest of them, and the aim is on the median."
    ))
}

/// What the column `held` says, after its name.
pub(super) const HELD: &str = "share of the time from the job's start to its end, warm-up included, in which it was frozen or one of its calls waited, \
     by the control's own account (lull's summary; suspend's freezes); – where the control holds nothing";

/// The share in a cell.
pub(super) fn held(one: &Standing) -> String {
    one.held.map_or_else(|| "–".to_owned(), |held| format!("{:.0}%", held * 100.0))
}

/// What a unit of background work is, for who reads its ratios.
pub(super) fn counted_by(pair: &Pair) -> Option<String> {
    Some(format!("Background work is counted by {}.", pair.counted_by.as_ref()?))
}

/// Names, with a question mark where it may be chance.
pub(super) fn who_dominates(one: &Standing) -> String {
    let names = one.dominated_by.iter().map(|by| format!("{}{}", by.by, if by.certain { "" } else { "?" }));
    names.collect::<Vec<_>>().join(", ")
}
