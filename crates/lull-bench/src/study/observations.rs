//! The five observations of the `smart` paper: whether each holds in these records.
//!
//! The paper judges by the mean and the distribution of response times, and by the CPU share and iterations
//! of the background. Here the mean response time over `alone` and the background work over `solo` of the
//! same round decide; a difference of medians below [`NOISE`] is none. "Most" is more than half of the cases
//! that can say.
//!
//! | | what the paper says | holds if |
//! |---|---|---|
//! | 1 | better for the foreground than periodic suspension, sometimes for both | the mean is lower than under `suspend` in most cases, and in one of them no less work is done |
//! | 2 | a significant improvement over `nice` and `allnice`, especially with contended memory | the mean is lower than under both in most cases, and in most of those whose job contends for memory |
//! | 3 | both sides may win | in a case the mean is lower than under both, and no less work is done than under both |
//! | 4 | robust against unreasonably many background jobs | in most cases of eight the mean is lower than under both, and grows less from two to eight than without control |
//! | 5 | it learns the foreground and lets the job run in its calm | in most runs the others used more CPU before the job was held than before it was let go, and more jobs were held longer in most cases |
//!
//! Where the records that this takes are not there, an observation was *not measured*, which says nothing
//! about it. Where they are, but pairs of fewer than [`FEW`] rounds are needed for the verdict, it is *open*:
//! medians of so few may fall either way. What each takes at least, beside `alone` and `solo`, which are
//! always there:
//!
//! | | pairs | contenders |
//! |---|---|---|
//! | 1 | one, any | suspend, smart |
//! | 2 | one whose job contends for memory | nice, nice+ionice, smart |
//! | 3 | one, any | nice, nice+ionice, smart |
//! | 4 | one, with two and with eight instances | none, nice, nice+ionice, smart |
//! | 5 | one, with two and with eight instances | smart |
//!
//! Source: Yan, Hughes, Riska, Smirni (2012), section IV-C, figures 5 to 9.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::NOISE;
use super::dominance::FEW;
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
    /// The runs that it takes are there, but too few rounds of them.
    Open,
    /// The runs that it takes are not there.
    NotMeasured,
}

impl Outcome {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Open => "open",
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
    /// The pairs and contenders that decide it at least; reports from before it was told lack it.
    #[serde(default)]
    pub takes: String,
    /// What was found.
    pub numbers: String,
    /// The verdict.
    pub outcome: Outcome,
}

/// What the paper says, and what decides whether that holds.
struct Statement {
    paper: &'static str,
    criterion: &'static str,
    /// The pairs that it takes at least, to read after "a pair".
    pairs: &'static str,
    fits: fn(&[Pair], &Pair) -> bool,
    /// The contenders that it takes at least.
    contenders: &'static [&'static str],
}

fn any(_: &[Pair], _: &Pair) -> bool {
    true
}

fn contends(_: &[Pair], pair: &Pair) -> bool {
    MEMORY_JOBS.contains(&pair.background.as_str())
}

fn is_crowd(pairs: &[Pair], pair: &Pair) -> bool {
    pair.instances == 8 && sibling(pairs, pair, 2).is_some()
}

const CROWDS: &str = " with two and with eight instances";

/// The five, in order.
const STATEMENTS: [Statement; 5] = [
    Statement {
        paper: "smart improves the foreground's performance, and sometimes also the background's, over periodically throttling the background.",
        criterion: "its mean response time is lower than under suspend in most cases, and in one of them it does no less work",
        pairs: "",
        fits: any,
        contenders: &["suspend", "smart"],
    },
    Statement {
        paper: "smart is a significant improvement over off-the-shelf methods (nice, allnice), especially in cases of memory contention: up to 60% less response time than nice.",
        criterion: "its mean response time is lower than under nice and under nice+ionice in most cases, and in most of those with a job that contends for memory (memory, compile, bzip2)",
        pairs: " with a job that contends for memory",
        fits: contends,
        contenders: &["nice", "nice+ionice", "smart"],
    },
    Statement {
        paper: "smart has the potential to produce a win/win situation, where foreground and background benefit over the built-in priorities.",
        criterion: "in at least one case its mean response time is lower than under nice and under nice+ionice, and it does no less work than either",
        pairs: "",
        fits: any,
        contenders: &["nice", "nice+ionice", "smart"],
    },
    Statement {
        paper: "smart is robust in the face of unreasonably heavy amounts of attempted background work (8 instances).",
        criterion: "in most cases of eight instances its mean response time is lower than under nice and under nice+ionice, and grows less from two instances to eight than without control",
        pairs: CROWDS,
        fits: is_crowd,
        contenders: &["none", "nice", "nice+ionice", "smart"],
    },
    Statement {
        paper: "smart learns the behaviour of the foreground and permits the background to run in a complementary manner: suspended in its busy periods, longer with more jobs.",
        criterion: "in most runs of smart the others used more CPU just before the job was held than just before it was let go, and in most cases eight instances are held longer than two",
        pairs: CROWDS,
        fits: is_crowd,
        contenders: &["smart"],
    },
];

impl Statement {
    fn takes(&self) -> String {
        format!("one pair{}; {}; {FEW} rounds", self.pairs, self.contenders.join(", "))
    }

    /// What of it these pairs do not have, in words; none if they have it all.
    fn missing(&self, pairs: &[Pair]) -> Option<String> {
        let has = |pair: &Pair, name: &&str| {
            pair.standing(name).is_some_and(|one| one.mean.is_some() || one.background.is_some())
        };
        let absent = |name: &&str| !pairs.iter().any(|pair| has(pair, name));
        let names = ["alone", "solo"].iter().chain(self.contenders).copied();
        let mut missing: Vec<String> = names.filter(absent).map(str::to_owned).collect();
        let fitting = || pairs.iter().filter(|pair| (self.fits)(pairs, pair));
        if fitting().next().is_none() {
            missing.push(format!("a pair{}", self.pairs));
        } else if missing.is_empty()
            && !fitting().any(|pair| self.contenders.iter().all(|name| has(pair, name)))
        {
            missing.push(format!("a pair{} that has all of {}", self.pairs, self.contenders.join(", ")));
        }
        (!missing.is_empty()).then(|| format!("missing: {}", missing.join(", ")))
    }
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

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.yes, self.of)
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

/// Smart's mean over that of another: median, lowest and highest over the cases; nothing if no case has both.
fn spread(pairs: &[Pair], other: &str) -> String {
    let ratios = pairs.iter().filter_map(|pair| ratio(mean(pair, "smart")?, mean(pair, other)?));
    Summary::of(ratios).map_or_else(String::new, |s| {
        let cases = if s.count == 1 { "case" } else { "cases" };
        format!(
            "; mean over that of {other}: {:.2} ({:.2} to {:.2}, {} {cases})",
            s.median, s.min, s.max, s.count
        )
    })
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

/// What the pairs and runs say, counted.
struct Found {
    when: Count,
    for_both: Count,
    better: Count,
    memory: Count,
    wins: Count,
    eight: Count,
    growth: Count,
    longer: Count,
    calm: Count,
}

const RIVALS: [&str; 2] = ["nice", "nice+ionice"];

impl Found {
    fn of(pairs: &[Pair], records: &[Record]) -> Self {
        let count = |verdict: &dyn Fn(&Pair) -> Option<bool>| Count::over(pairs.iter().map(verdict));
        let changes = pairs
            .iter()
            .flat_map(|pair| runs_of(records, &pair.case))
            .filter(|(_, run)| run.contender == "smart")
            .map(|(_, run)| before_changes(counted(run)));
        Self {
            when: count(&|pair| lower(pair, &["suspend"])),
            for_both: count(&|pair| both(lower(pair, &["suspend"]), no_less(pair, &["suspend"]))),
            better: count(&|pair| lower(pair, &RIVALS)),
            memory: count(&|pair| lower(pair, &RIVALS).filter(|_| contends(pairs, pair))),
            wins: count(&|pair| both(lower(pair, &RIVALS), no_less(pair, &RIVALS))),
            eight: count(&|pair| lower(pair, &RIVALS).filter(|_| pair.instances == 8)),
            growth: count(&|pair| grows_less(pairs, pair).filter(|_| pair.instances == 8)),
            longer: count(&|pair| held_longer(pairs, pair).filter(|_| pair.instances == 8)),
            calm: Count::over(changes.map(|[held, let_go]| Some(held? > let_go?))),
        }
    }

    /// The verdict on each, however few the rounds.
    fn outcomes(&self) -> [Outcome; 5] {
        [
            outcome(&[self.when.most(), self.for_both.any()]),
            outcome(&[self.better.most(), self.memory.most()]),
            outcome(&[self.wins.any()]),
            outcome(&[self.eight.most(), self.growth.most()]),
            outcome(&[self.calm.most(), self.longer.most()]),
        ]
    }

    /// What was counted of each, in words.
    fn numbers(&self, pairs: &[Pair]) -> [String; 5] {
        let Self { when, for_both, better, memory, wins, eight, growth, longer, calm } = self;
        let spread = |other| spread(pairs, other);
        [
            format!("lower in {when} cases, with no less work in {}{}", for_both.yes, spread("suspend")),
            format!(
                "lower in {better} cases, of those with contended memory in {memory}{}{}",
                spread("nice"),
                spread("nice+ionice")
            ),
            format!("both win in {wins} cases"),
            format!("with eight lower in {eight} cases; grows less in {growth}"),
            format!("busier before holds in {calm} runs that have both; held longer in {longer} cases"),
        ]
    }
}

/// Whether a pair has rounds enough for its medians to decide.
fn is_decisive(pair: &Pair) -> bool {
    pair.rounds >= FEW && pair.standing("smart").is_some_and(|smart| smart.runs >= FEW)
}

/// The verdict of all pairs, if those with rounds enough give the same by themselves.
fn settled(all: Outcome, decisive: Outcome) -> Outcome {
    if all == decisive || all == Outcome::NotMeasured { all } else { Outcome::Open }
}

/// All five, in order.
pub fn of(pairs: &[Pair], records: &[Record]) -> [Observation; 5] {
    let found = Found::of(pairs, records);
    let decisive: Vec<Pair> = pairs.iter().filter(|pair| is_decisive(pair)).cloned().collect();
    let (all, decisive) = (found.outcomes(), Found::of(&decisive, records).outcomes());
    let numbers = found.numbers(pairs);
    std::array::from_fn(|index| {
        let statement = &STATEMENTS[index];
        let outcome = settled(all[index], decisive[index]);
        let numbers = match statement.missing(pairs) {
            // Counts of nothing say nothing.
            Some(missing) if outcome == Outcome::NotMeasured => missing,
            Some(missing) => format!("{}; {missing}", numbers[index]),
            None => numbers[index].clone(),
        };
        let (paper, criterion) = (statement.paper.to_owned(), statement.criterion.to_owned());
        Observation { number: index + 1, paper, criterion, takes: statement.takes(), numbers, outcome }
    })
}

#[cfg(test)]
mod tests;
