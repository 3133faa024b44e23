//! What may wait in a queue: the content of a `backlog` file, when written.
//!
//! `REQUESTS SERVICE`: the most requests, and the most service that they ask for, that may wait at a time; `max` for no bound: `100 max`,
//! `max 64MiB`. What a resource counts as requests and as service is its own ([`super::Unit`] and the enforcement say).

use super::Whole;

/// A bound, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// As much as comes.
    #[default]
    None,
    /// So much at the most.
    Most(u64),
}

impl Bound {
    /// As a number, the largest for no bound.
    pub const fn most(self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Most(most) => most,
        }
    }
}

/// What may wait in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Requests.
    pub requests: Bound,
    /// Service, in the resource's smallest unit.
    pub service: Bound,
}

/// Why a text is no bound of a backlog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; a backlog is the most requests and the most service that may wait, like '100 max'")]
pub struct ParseBacklogError(String);

impl Backlog {
    /// From what was written to a `backlog` file.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub fn parse(text: &str, whole: Whole) -> Result<Self, ParseBacklogError> {
        let fail = |why: String| Err(ParseBacklogError(why));
        let (text, _note) = text.split_once('#').unwrap_or((text, ""));
        let words: Vec<&str> = text.split_whitespace().take(3).collect();
        let [requests, service] = words.as_slice() else {
            return fail(format!("it takes two values, not {}", words.len()));
        };
        let digits = requests.bytes().all(|byte| byte.is_ascii_digit());
        let requests = match requests.parse() {
            _ if *requests == "max" => Bound::None,
            Ok(most) if digits && most > 0 => Bound::Most(most),
            _ => return fail(format!("'{requests}' is not a number of requests from 1 on")),
        };
        let service = match *service {
            "max" => Bound::None,
            amount => Bound::Most(whole.parse(amount).map_err(ParseBacklogError)?),
        };
        Ok(Self { requests, service })
    }
}
