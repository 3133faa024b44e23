//! The choices of a resource, from nothing to everything.
//!
//! A choice has two coordinates, each from cautious to bold: for the CPU how many are lent and how background is held
//! beside the foreground, for a disk how many background requests are in service and after which interval. More of
//! either means more background work and more harm, so choices are ordered, though not all of them with each other:
//!
//! ```text
//!  never hold │  ·   ─  (1, never) ─ (2, never)     top
//!  50 µs      │  ·   ─  (1, 50 µs) ─ (2, 50 µs)
//!  2 ms       │  ·   ─  (1, 2 ms)  ─ (2, 2 ms)
//!             └ nothing    1 CPU      2 CPUs         bottom: nothing is lent
//! ```

use crate::time::{Interval, Nanos};

/// One choice; a greater coordinate is bolder. Nothing is lent at `first` 0, where `second` does not matter and is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rung {
    /// How much is lent.
    pub first: u8,
    /// How boldly it is used beside the foreground.
    pub second: u8,
}

impl Rung {
    /// Nothing is lent.
    pub const BOTTOM: Self = Self { first: 0, second: 0 };

    /// Whether this is at most as bold as `other` in both coordinates.
    pub const fn is_within(self, other: Self) -> bool {
        self.first <= other.first && self.second <= other.second
    }
}

/// All rungs of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    top: Rung,
}

impl Ladder {
    /// Up to `top`.
    pub const fn up_to(top: Rung) -> Self {
        if top.first == 0 { Self { top: Rung::BOTTOM } } else { Self { top } }
    }

    /// The boldest rung.
    pub const fn top(self) -> Rung {
        self.top
    }

    /// Every rung, the bottom first.
    pub fn rungs(self) -> impl Iterator<Item = Rung> {
        let lent = (1..=self.top.first)
            .flat_map(move |first| (0..=self.top.second).map(move |second| Rung { first, second }));
        std::iter::once(Rung::BOTTOM).chain(lent)
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        1 + self.top.first as usize * (self.top.second as usize + 1)
    }

    /// Whether there is nothing to choose.
    pub const fn is_empty(self) -> bool {
        self.top.first == 0
    }

    /// The place of a rung among [`rungs`](Self::rungs).
    pub(super) const fn place(self, rung: Rung) -> usize {
        match rung.first {
            0 => 0,
            first => 1 + (first as usize - 1) * (self.top.second as usize + 1) + rung.second as usize,
        }
    }
}

/// How background is held beside the foreground on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldRule {
    /// While a foreground task runs, and for this interval after it.
    While(Nanos),
    /// Not at all.
    Never,
}

/// What the two coordinates of a ladder mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices<A, B> {
    first: Vec<A>,
    second: Vec<B>,
}

/// CPUs lent, and when background is held on them.
pub type CpuChoices = Choices<u32, HoldRule>;
/// Background requests in service, and the preemption interval.
pub type DiskChoices = Choices<u32, Interval>;

/// Intervals of a CPU from cautious to bold: a hold costs about 100 µs, so shorter ones do not pay.
const CPU_INTERVALS_US: [u64; 6] = [2_000, 1_000, 500, 200, 100, 50];
/// A coordinate has no more values than this, so that a search over all rungs stays cheap.
const MOST: usize = 16;

impl CpuChoices {
    /// For a machine with `cpus`: all numbers up to 4, then about one and a half times as many at each step.
    pub fn of_cpus(cpus: u32) -> Self {
        let intervals = CPU_INTERVALS_US.map(|us| HoldRule::While(Nanos::from_micros(us)));
        Self { first: steps(cpus), second: intervals.into_iter().chain([HoldRule::Never]).collect() }
    }
}

impl DiskChoices {
    /// Depths up to `depth`; intervals from `longest` down by factors of four, and none.
    pub fn of_disk(depth: u32, longest: Nanos) -> Self {
        let lengths = (0..4).map(|step| Nanos(longest.0 >> (2 * step)));
        let intervals = lengths.filter(|length| *length > Nanos::ZERO).map(Interval::Finite);
        Self { first: steps(depth), second: intervals.chain([Interval::NONE]).collect() }
    }
}

impl<A: Copy, B: Copy> Choices<A, B> {
    /// The rung that lends most with this second coordinate.
    pub fn boldest(&self, second: B) -> Option<Rung>
    where
        B: PartialEq,
    {
        let place = self.second.iter().position(|value| *value == second)?;
        Some(Rung { second: u8::try_from(place).ok()?, ..self.ladder().top() })
    }

    /// The ladder of these choices.
    pub fn ladder(&self) -> Ladder {
        let count = |length: usize| u8::try_from(length).unwrap_or(u8::MAX);
        let second = count(self.second.len()).saturating_sub(1);
        Ladder::up_to(Rung { first: count(self.first.len()), second })
    }

    /// What a rung stands for; `None` for the bottom, and for rungs of another ladder.
    pub fn choice(&self, rung: Rung) -> Option<(A, B)> {
        let first = self.first.get(usize::from(rung.first).checked_sub(1)?)?;
        Some((*first, *self.second.get(usize::from(rung.second))?))
    }
}

/// From 1 to `most`, farther and farther apart.
fn steps(most: u32) -> Vec<u32> {
    let mut steps: Vec<u32> = Vec::new();
    let mut next = 1_u32;
    while next < most && steps.len() + 1 < MOST {
        steps.push(next);
        next = next.saturating_add((next / 2).max(1));
    }
    if most > 0 {
        steps.push(most);
    }
    steps
}

#[cfg(test)]
mod tests;
