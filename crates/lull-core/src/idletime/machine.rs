//! The four states of one resource and what moves between them (requirements I-1 to I-4, I-7).
//!
//! Problem: decide, per resource, when a background request may start so that a run of foreground requests whose
//! gaps are shorter than the interval (a *burst*) waits for at most one background request (the *preemption cost*).
//!
//! Approach: the Moore machine of Eggert & Touch, *Idletime Scheduling with Preemption Intervals*, section 2 and
//! appendix A. `f`: a foreground request is at the head; `b`: a background request is, and no foreground request
//! waits; `t`: the interval has expired; `i`: the queue is empty.
//!
//! ```text
//!            f                               f
//!      ┌────────────────┐             ┌──────────────┐
//!      │                ▼             ▼              │
//!  ┌───┴──┐           ┌─────┐  f  (on itself)     ┌──┴──┐
//!  │  I   │           │  F  ├────────────────────▶│  P  │  b, i: stays, b waits
//!  │ idle │           │ fg  │   b (waits), i      │     │
//!  └┬─▲─▲─┘           └──▲──┘                     └┬──▲─┘
//!   │ │ └────────────────│────────────────────────┘  │
//!  b│ │i (bi)           f│             t             │ b (waits) in variants bp-*
//!   ▼ │                  │                           │ i         in variants *-bp
//!  ┌──┴────┐             │                           │
//!  │   B   ├─────────────┘                           │
//!  │  bg   ├─────────────────────────────────────────┘
//!  └───────┘ b (on itself) in variants bb-*
//! ```
//!
//! Every path from F to B passes P, and nothing enters P from I. In P the events `b` and `i` change nothing: a
//! waiting background request stays at the head until the interval has expired.
//!
//! A resource that serves several requests at once is in F while any foreground request is in service and in B
//! while only background requests are; see [`resource`](crate::idletime::resource).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What the resource is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// I: nothing in service, no interval running.
    #[default]
    Idle,
    /// F: serving the foreground.
    Foreground,
    /// B: serving the background.
    Background,
    /// P: the preemption interval is running.
    Interval,
}

impl State {
    /// All states, in the order of [`State::index`].
    pub const ALL: [Self; 4] = [Self::Idle, Self::Foreground, Self::Background, Self::Interval];

    /// Position in tables of counters.
    pub const fn index(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Foreground => 1,
            Self::Background => 2,
            Self::Interval => 3,
        }
    }

    /// The paper's letter: I, F, B or P.
    pub const fn letter(self) -> char {
        match self {
            Self::Idle => 'I',
            Self::Foreground => 'F',
            Self::Background => 'B',
            Self::Interval => 'P',
        }
    }

    /// Whether a background request may start: in I and B, never in F and P.
    pub const fn admits_background(self) -> bool {
        matches!(self, Self::Idle | Self::Background)
    }
}

/// What can happen to the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// f: a foreground request is at the head of the queue.
    Foreground,
    /// b: a background request is at the head, hence no foreground request waits.
    Background,
    /// t: the interval has expired; only in P.
    Timeout,
    /// i: the queue is empty.
    Empty,
}

impl Event {
    /// All events, in the order of [`Event::index`].
    pub const ALL: [Self; 4] = [Self::Foreground, Self::Background, Self::Timeout, Self::Empty];

    /// Position in tables of counters.
    pub const fn index(self) -> usize {
        match self {
            Self::Foreground => 0,
            Self::Background => 1,
            Self::Timeout => 2,
            Self::Empty => 3,
        }
    }

    /// The paper's letter: f, b, t or i.
    pub const fn letter(self) -> char {
        match self {
            Self::Foreground => 'f',
            Self::Background => 'b',
            Self::Timeout => 't',
            Self::Empty => 'i',
        }
    }
}

/// B on b: what follows a background request when another one waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AfterBackground {
    /// The next one starts at once.
    #[default]
    Background,
    /// An interval first.
    Interval,
}

/// B on i: what follows a background request when none waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AfterEmpty {
    /// The resource is idle.
    #[default]
    Idle,
    /// An interval first.
    Interval,
}

/// One of the four legal machines (I-3). The default, `bb-bi`, leaves the most background work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Where B goes on b.
    pub on_background: AfterBackground,
    /// Where B goes on i.
    pub on_empty: AfterEmpty,
}

/// A name that is not among those that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a {what}; choose one of {choices}")]
pub struct UnknownName {
    text: String,
    what: &'static str,
    choices: &'static str,
}

impl Variant {
    /// All four, the default first.
    pub const ALL: [Self; 4] = [
        Self { on_background: AfterBackground::Background, on_empty: AfterEmpty::Idle },
        Self { on_background: AfterBackground::Background, on_empty: AfterEmpty::Interval },
        Self { on_background: AfterBackground::Interval, on_empty: AfterEmpty::Idle },
        Self { on_background: AfterBackground::Interval, on_empty: AfterEmpty::Interval },
    ];

    /// `bb-bi`, `bb-bp`, `bp-bi` or `bp-bp`: where B goes on b, then where B goes on i.
    pub const fn name(self) -> &'static str {
        match (self.on_background, self.on_empty) {
            (AfterBackground::Background, AfterEmpty::Idle) => "bb-bi",
            (AfterBackground::Background, AfterEmpty::Interval) => "bb-bp",
            (AfterBackground::Interval, AfterEmpty::Idle) => "bp-bi",
            (AfterBackground::Interval, AfterEmpty::Interval) => "bp-bp",
        }
    }
}

impl FromStr for Variant {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|variant| variant.name() == text).ok_or_else(|| UnknownName {
            text: text.to_owned(),
            what: "variant",
            choices: "bb-bi, bb-bp, bp-bi, bp-bp",
        })
    }
}

/// What starts the interval (I-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StartRule {
    /// The end of foreground service: the definition.
    #[default]
    Completion,
    /// The arrival of the foreground request: the paper's implementation; the interval may end during service.
    Request,
}

impl StartRule {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::Completion, Self::Request];

    /// `completion` or `request`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::Request => "request",
        }
    }
}

impl FromStr for StartRule {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|rule| rule.name() == text).ok_or_else(|| UnknownName {
            text: text.to_owned(),
            what: "start rule",
            choices: "completion, request",
        })
    }
}

macro_rules! by_name {
    ($type:ty) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

by_name!(Variant);
by_name!(StartRule);

/// Where an event leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state after the event.
    pub next: State,
    /// Whether the request at the head enters service; otherwise it goes on waiting.
    pub consumes: bool,
}

/// The edge that `event` takes out of `state`; `None` when the event cannot happen there (t outside P).
pub const fn transition(state: State, event: Event, variant: Variant) -> Option<Edge> {
    let (next, consumes) = match (state, event) {
        (_, Event::Foreground) => (State::Foreground, true),
        (State::Interval, Event::Timeout) => (State::Idle, false),
        (_, Event::Timeout) => return None,
        (State::Idle, Event::Background) => (State::Background, true),
        (State::Idle, Event::Empty) => (State::Idle, false),
        (State::Foreground | State::Interval, Event::Background | Event::Empty) => (State::Interval, false),
        (State::Background, Event::Background) => match variant.on_background {
            AfterBackground::Background => (State::Background, true),
            AfterBackground::Interval => (State::Interval, false),
        },
        (State::Background, Event::Empty) => match variant.on_empty {
            AfterEmpty::Idle => (State::Idle, false),
            AfterEmpty::Interval => (State::Interval, false),
        },
    };
    Some(Edge { next, consumes })
}

/// How often each event happened in each state (I-7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters(
    /// By [`State::index`], then [`Event::index`].
    pub [[u64; 4]; 4],
);

impl Counters {
    /// Counts `times` of `event` in `state`.
    pub fn add(&mut self, state: State, event: Event, times: u64) {
        let cell = &mut self.0[state.index()][event.index()];
        *cell = cell.saturating_add(times);
    }

    /// How often `event` happened in `state`.
    pub const fn get(&self, state: State, event: Event) -> u64 {
        self.0[state.index()][event.index()]
    }

    /// B\[f\]: foreground requests that found background in service.
    pub const fn preemptions(&self) -> u64 {
        self.get(State::Background, Event::Foreground)
    }

    /// P\[f\]: foreground requests that the interval kept free of background.
    pub const fn kept_free(&self) -> u64 {
        self.get(State::Interval, Event::Foreground)
    }
}

#[cfg(test)]
mod tests;
