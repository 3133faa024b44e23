//! The two values of a `share` file: a minimum and a weight.
//!
//! Written as `MINIMUM WEIGHT`: `20% 3`, `0.4cpu 3`, `512MiB 0`. What follows a `#` does not count. Printed with both readable forms of the
//! minimum, the one that is exact first:
//!
//! ```text
//! 20% 3 # 0.4cpu
//! 0.1cpu 3 # 3.3333%
//! ```

use super::Whole;

/// What a reservation has been promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What it gets at the least while it is busy, in the resource's smallest unit.
    pub minimum: u64,
    /// How it shares the rest with its busy siblings.
    pub weight: u32,
}

/// The heaviest; more would tell nothing that kernels can hold apart.
pub const MOST_WEIGHT: u32 = 1_000_000;
/// Nothing sensible is longer.
const LONGEST: usize = 256;

/// Why a text is no content of a `share` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; a share is a minimum and a weight, like '20% 3'")]
pub struct ParseTermsError(String);

impl Terms {
    /// From what was written to a `share` file.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub fn parse(text: &str, whole: Whole) -> Result<Self, ParseTermsError> {
        let fail = |why: String| Err(ParseTermsError(why));
        if text.len() > LONGEST {
            return fail(format!("{} bytes are too many", text.len()));
        }
        let (text, _note) = text.split_once('#').unwrap_or((text, ""));
        let mut words = text.split_whitespace();
        let (Some(minimum), Some(weight)) = (words.next(), words.next()) else {
            return fail(format!("'{}' lacks a value", text.trim()));
        };
        if let Some(more) = words.next() {
            return fail(format!("'{more}' is one value too many"));
        }
        let minimum = whole.parse(minimum).map_err(ParseTermsError)?;
        if weight.starts_with('-') {
            return fail(format!("the weight '{weight}' is less than zero"));
        }
        let digits = weight.bytes().all(|byte| byte.is_ascii_digit());
        match weight.parse::<u32>() {
            Ok(weight) if digits && weight <= MOST_WEIGHT => Ok(Self { minimum, weight }),
            _ => fail(format!("the weight '{weight}' is not a whole number up to {MOST_WEIGHT}")),
        }
    }

    /// As [`Self::parse`] reads it, with the other form of the minimum as a note.
    pub fn show(self, whole: Whole) -> String {
        let (amount, percentage) = (whole.unit.show(self.minimum), whole.percentage(self.minimum));
        if whole.part(percentage) == self.minimum {
            format!("{percentage} {} # {amount}", self.weight)
        } else {
            format!("{amount} {} # {percentage}", self.weight)
        }
    }
}
