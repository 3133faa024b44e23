//! The five observations of the `smart` paper: whether each holds in these records.
//!
//! The paper judges by the mean and the distribution of response times, and by the CPU share and iterations of the background. Here
//! the mean response time over `alone` and the background work over `solo` of the same round decide; a difference of medians
//! below [`NOISE`] is none. "Most" is more than half of the cases that can say.
//!
//! | | what the paper says | holds if |
//! |---|---|---|
//! | 1 | better for the foreground than periodic suspension, sometimes for both | the mean is lower than under `suspend` in most cases, and in one of them no less work is done |
//! | 2 | a significant improvement over `nice` and `allnice`, especially with contended memory | the mean is lower than under both in most cases, and in most of those whose job contends for memory |
//! | 3 | both sides may win | in a case the mean is lower than under both, and no less work is done than under both |
//! | 4 | robust against unreasonably many background jobs | in most cases of eight the mean is lower than under both, and grows less from two to eight than without control |
//! | 5 | it learns the foreground and lets the job run in its calm | in most runs the others used more CPU before the job was held than before it was let go, and more jobs were held longer in most cases |
//!
//! Where the records that this takes are not there, an observation was *not measured*, which says nothing about it.
//!
//! Source: Yan, Hughes, Riska, Smirni (2012), section IV-C, figures 5 to 9.

use serde::{Deserialize, Serialize};

use super::NOISE;
use super::pairs::{Pair, counted, runs_of};
use crate::record::{Moment, Record};
use crate::stats::{Summary, ratio};

/// Jobs that contend for memory and caches, as `gcc` and `bzip2` do in the paper.
const MEMORY_JOBS: [&str; 3] = ["memory", "compile", "bzip2"];

/// What became of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// By its criterion.
    Holds,
    /// By its criterion.
    DoesNotHold,
    /// The runs that it takes are not there.
    NotMeasured,
}

impl Outcome {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One observation and what these records say about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// From 1.
    pub number: usize,
    /// What the paper says.
    pub paper: String,
    /// When it counts as holding.
    pub criterion: String,
    /// What was found.
    pub numbers: String,
    /// The verdict.
    pub outcome: Outcome,
}

/// How many of the cases that can say, do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    yes: usize,
    of: usize,
}

impl Count {
    fn over(verdicts: impl IntoIterator<Item = Option<bool>>) -> Self {
        let mut count = Self::default();
        for verdict in verdicts.into_iter().flatten() {
            count.of += 1;
            count.yes += usize::from(verdict);
        }
        count
    }

    fn most(self) -> Option<bool> {
        (self.of > 0).then_some(2 * self.yes > self.of)
    }

    fn any(self) -> Option<bool> {
        (self.of > 0).then_some(self.yes > 0)
    }
}

fn outcome(parts: &[Option<bool>]) -> Outcome {
    if parts.contains(&Some(false)) {
        // One part that fails decides, whatever the others would say.
        Outcome::DoesNotHold
    } else if parts.contains(&None) || parts.is_empty() {
        Outcome::NotMeasured
    } else {
        Outcome::Holds
    }
}

fn mean(pair: &Pair, name: &str) -> Option<f64> {
    Some(pair.standing(name)?.mean?.value)
}

fn work(pair: &Pair, name: &str) -> Option<f64> {
    Some(pair.standing(name)?.background?.value)
}

/// Whether smart's mean is clearly below that of all of these.
fn lower(pair: &Pair, others: &[&str]) -> Option<bool> {
    let own = mean(pair, "smart")?;
    let theirs: Vec<f64> = others.iter().map(|name| mean(pair, name)).collect::<Option<_>>()?;
    Some(theirs.iter().all(|other| own < other * (1.0 - NOISE)))
}

/// Whether smart does no less work than all of these.
fn no_less(pair: &Pair, others: &[&str]) -> Option<bool> {
    let own = work(pair, "smart")?;
    let theirs: Vec<f64> = others.iter().map(|name| work(pair, name)).collect::<Option<_>>()?;
    // Where nobody got anything done, nobody won.
    let works = own > 0.0 || theirs.iter().any(|other| *other > 0.0);
    works.then(|| theirs.iter().all(|other| own >= other * (1.0 - NOISE)))
}

fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    Some(one? && other?)
}

/// Smart's mean over that of another: median, lowest and highest over the cases.
fn spread(pairs: &[Pair], other: &str) -> String {
    let ratios = pairs.iter().filter_map(|pair| ratio(mean(pair, "smart")?, mean(pair, other)?));
    Summary::of(ratios).map_or_else(
        || format!("no case with {other}"),
        |s| {
            format!(
                "mean over that of {other}: {:.2} ({:.2} to {:.2}, {} cases)",
                s.median, s.min, s.max, s.count
            )
        },
    )
}

/// The same application and job with so many instances.
fn sibling<'a>(pairs: &'a [Pair], pair: &Pair, instances: u32) -> Option<&'a Pair> {
    pairs.iter().find(|other| {
        (&other.foreground, &other.background, other.instances)
            == (&pair.foreground, &pair.background, instances)
    })
}

/// Whether the mean grows less from two instances to eight than without control.
fn grows_less(pairs: &[Pair], many: &Pair) -> Option<bool> {
    let few = sibling(pairs, many, 2)?;
    let growth = |name: &str| ratio(mean(many, name)?, mean(few, name)?);
    Some(growth("smart")? < growth("none")? * (1.0 - NOISE))
}

/// Whether more jobs were held for a larger part of the time.
fn held_longer(pairs: &[Pair], many: &Pair) -> Option<bool> {
    let held = |pair: &Pair| pair.standing("smart")?.held;
    Some(held(many)? > held(sibling(pairs, many, 2)?)?)
}

/// Of one run of smart: CPUs that others used just before the job was held, and just before it was let go.
fn before_changes(moments: &[Moment]) -> [Option<f64>; 2] {
    let before = |becomes: bool| {
        let used = moments.iter().zip(moments.iter().skip(1)).filter_map(|(earlier, later)| {
            (earlier.held != becomes && later.held == becomes).then_some(earlier.other_cpus)
        });
        let used: Vec<f64> = used.collect();
        ratio(used.iter().sum(), used.len() as f64)
    };
    [before(true), before(false)]
}

/// All five, in order.
pub fn of(pairs: &[Pair], records: &[Record]) -> [Observation; 5] {
    let count = |verdict: &dyn Fn(&Pair) -> Option<bool>| Count::over(pairs.iter().map(verdict));
    let rivals = ["nice", "nice+ionice"];
    let observation =
        |number, paper: &str, criterion: &str, numbers: String, parts: &[Option<bool>]| Observation {
            number,
            paper: paper.to_owned(),
            criterion: criterion.to_owned(),
            numbers,
            outcome: outcome(parts),
        };

    let when = count(&|pair| lower(pair, &["suspend"]));
    let for_both = count(&|pair| both(lower(pair, &["suspend"]), no_less(pair, &["suspend"])));
    let better = count(&|pair| lower(pair, &rivals));
    let contended = |pair: &Pair| MEMORY_JOBS.contains(&pair.background.as_str());
    let memory = count(&|pair| lower(pair, &rivals).filter(|_| contended(pair)));
    let wins = count(&|pair| both(lower(pair, &rivals), no_less(pair, &rivals)));
    let eight = count(&|pair| lower(pair, &rivals).filter(|_| pair.instances == 8));
    let growth = count(&|pair| grows_less(pairs, pair).filter(|_| pair.instances == 8));
    let longer = count(&|pair| held_longer(pairs, pair).filter(|_| pair.instances == 8));
    let changes: Vec<[Option<f64>; 2]> = pairs
        .iter()
        .flat_map(|pair| runs_of(records, &pair.case))
        .filter(|(_, run)| run.contender == "smart")
        .map(|(_, run)| before_changes(counted(run)))
        .collect();
    let calm = Count::over(changes.iter().map(|[held, let_go]| Some((*held)? > (*let_go)?)));

    [
        observation(
            1,
            "smart improves the foreground's performance, and sometimes also the background's, over periodically throttling the background.",
            "its mean response time is lower than under suspend in most cases, and in one of them it does no less work",
            format!(
                "lower in {} of {} cases, with no less work in {}; {}",
                when.yes,
                when.of,
                for_both.yes,
                spread(pairs, "suspend")
            ),
            &[when.most(), for_both.any()],
        ),
        observation(
            2,
            "smart is a significant improvement over off-the-shelf methods (nice, allnice), especially in cases of memory contention: up to 60% less response time than nice.",
            "its mean response time is lower than under nice and under nice+ionice in most cases, and in most of those with a job that contends for memory (memory, compile, bzip2)",
            format!(
                "lower in {} of {} cases, of those with contended memory in {} of {}; {}; {}",
                better.yes,
                better.of,
                memory.yes,
                memory.of,
                spread(pairs, "nice"),
                spread(pairs, "nice+ionice")
            ),
            &[better.most(), memory.most()],
        ),
        observation(
            3,
            "smart has the potential to produce a win/win situation, where foreground and background benefit over the built-in priorities.",
            "in at least one case its mean response time is lower than under nice and under nice+ionice, and it does no less work than either",
            format!("both win in {} of {} cases", wins.yes, wins.of),
            &[wins.any()],
        ),
        observation(
            4,
            "smart is robust in the face of unreasonably heavy amounts of attempted background work (8 instances).",
            "in most cases of eight instances its mean response time is lower than under nice and under nice+ionice, and grows less from two instances to eight than without control",
            format!(
                "with eight lower in {} of {} cases; grows less in {} of {}",
                eight.yes, eight.of, growth.yes, growth.of
            ),
            &[eight.most(), growth.most()],
        ),
        observation(
            5,
            "smart learns the behaviour of the foreground and permits the background to run in a complementary manner: suspended in its busy periods, longer with more jobs.",
            "in most runs of smart the others used more CPU just before the job was held than just before it was let go, and in most cases eight instances are held longer than two",
            format!(
                "busier before holds in {} of {} runs that have both; held longer in {} of {} cases",
                calm.yes, calm.of, longer.yes, longer.of
            ),
            &[calm.most(), longer.most()],
        ),
    ]
}

#[cfg(test)]
mod tests;
