//! The few conversions between whole numbers and figures, and what options say in numbers. Sizes are the
//! policy crate's.

use clap::ValueEnum;
use lull_core::Nanos;
pub use lull_core::base::bytes::{Bytes, ParseBytesError, size};

/// Megabytes per second (powers of ten) from bytes per second.
pub fn mb_per_s(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1e6
}

/// The nearest whole number; 0 for negative and undefined values.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float to int casts saturate")]
pub fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A time from seconds.
pub fn nanos(seconds: f64) -> Nanos {
    Nanos(whole(seconds * 1e9))
}

/// The name of a choice on the command line.
pub fn name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// So many of something, in words: `1 round`, `2 rounds`.
pub fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// A time as a number of seconds, of options that are measured in those; with another unit it is one of that:
/// `2`, `2s`, `500ms`.
///
/// # Errors
/// What else the text may be, for a person.
pub fn seconds(text: &str) -> Result<f64, String> {
    let plain = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    let said = || Some(text.parse::<Nanos>().ok()?.as_secs_f64());
    plain.or_else(said).ok_or_else(|| {
        "write a number of seconds, like 5 or 0.5, or a time with its unit, like 500ms".to_owned()
    })
}

/// The same, but more than none.
///
/// # Errors
/// What else the text may be, for a person.
pub fn some_seconds(text: &str) -> Result<f64, String> {
    let value = seconds(text)?;
    (value > 0.0).then_some(value).ok_or_else(|| "it must be more than 0".to_owned())
}

/// A share from 1 to 100 in whole percent, with its sign or without.
///
/// # Errors
/// What else the text may be, for a person.
pub fn percent(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number
        .ok()
        .filter(|percent| (1..=100).contains(percent))
        .ok_or_else(|| "write a whole number from 1 to 100, like 25 or 25%".to_owned())
}

#[cfg(test)]
mod tests;
