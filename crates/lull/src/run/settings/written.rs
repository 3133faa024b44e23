//! Options of the configuration file that the command line takes words for.
//!
//! As there: one word or number, several with commas between them, or a list of those; `true` is the option without a value, where there is
//! such a thing, and `false` is none.

use std::str::FromStr;

use anyhow::bail;
use serde::Deserialize;

use super::value;

/// As written.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a word, a number, a list of them, or true")]
pub(super) enum Written {
    Flag(bool),
    One(Word),
    Several(Vec<Word>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a word or a number")]
pub(super) enum Word {
    Number(i64),
    Text(String),
}

impl Default for Written {
    fn default() -> Self {
        Self::Flag(false)
    }
}

impl Word {
    fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

impl Written {
    /// The values of `key`; `bare` is what the option means without one.
    ///
    /// # Errors
    /// One line about the first that is none.
    pub(super) fn values<T: FromStr>(self, key: &str, bare: Option<&str>) -> anyhow::Result<Vec<T>>
    where
        T::Err: std::fmt::Display,
    {
        let texts = match self {
            Self::Flag(false) => Vec::new(),
            Self::Flag(true) => vec![bare.unwrap_or("true").to_owned()],
            Self::One(word) => vec![word.into_text()],
            Self::Several(words) => words.into_iter().map(Word::into_text).collect(),
        };
        let words = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
        words.filter_map(|word| value(key, Some(word.to_owned())).transpose()).collect()
    }

    /// The same of an option that is given once.
    ///
    /// # Errors
    /// As [`values`](Self::values), and when there are several.
    pub(super) fn at_most_one(self, key: &str, bare: Option<&str>) -> anyhow::Result<Option<String>> {
        match self.values::<String>(key, bare)?.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => bail!("run.{key}: one can be named, not {}", several.len()),
        }
    }
}

#[cfg(test)]
mod tests;
