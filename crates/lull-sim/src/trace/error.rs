//! What is wrong with a trace: the line, its text, the problem, and what to do.

use std::fmt;

/// Why a text is not a trace. The file's name is the caller's to add: this crate opens none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// One line is wrong.
    #[error("line {line}: '{text}': {fault}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The line, cut when long.
        text: String,
        /// What is wrong with it.
        fault: Fault,
    },
    /// No format was recognised.
    #[error(
        "line {line}: '{text}': this is none of the formats that can be read: fio latency log, fio iolog (version 2 or \
         3), blkparse text, perf script with block events, lull recording; see lull advise --help"
    )]
    Unknown {
        /// The first line that says something.
        line: usize,
        /// That line, cut when long.
        text: String,
    },
    /// Recognised, but without a request that could be used.
    #[error("{what}; {hint}")]
    Nothing {
        /// What was looked for.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A field is missing.
    Missing(&'static str),
    /// A field is not a number that fits.
    Number {
        /// The field.
        name: &'static str,
        /// What stands there.
        text: String,
    },
    /// Neither `f` nor `b`.
    Class(String),
    /// Text after the last field.
    More(String),
    /// It ended before it arrived.
    Backwards,
    /// A recording of another version.
    Version {
        /// The one that can be read.
        expected: u32,
    },
    /// A word that this format does not have.
    Word {
        /// The field.
        name: &'static str,
        /// What stands there.
        text: String,
        /// What may stand there.
        choices: &'static str,
    },
}

impl Fault {
    pub(super) fn number(name: &'static str, text: &str) -> Self {
        Self::Number { name, text: cut(text) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the field {name} is missing; was the file cut off?"),
            Self::Number { name, text } => {
                write!(f, "{name} is '{text}', which is not a number that fits here")
            }
            Self::Class(text) => {
                write!(f, "the class is '{text}'; it must be f (foreground) or b (background)")
            }
            Self::More(text) => write!(f, "'{text}' follows the last field"),
            Self::Backwards => f.write_str("the request ends before it arrives"),
            Self::Version { expected } => {
                write!(f, "not a recording of version {expected}; record it again with this lull")
            }
            Self::Word { name, text, choices } => {
                write!(f, "{name} is '{text}'; it must be one of {choices}")
            }
        }
    }
}

impl TraceError {
    pub(super) fn at(line: usize, text: &str, fault: Fault) -> Self {
        Self::Line { line, text: cut(text), fault }
    }
}

/// `text` without its end of line, no longer than an error message bears.
pub(super) fn cut(text: &str) -> String {
    const MOST: usize = 120;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST - 1).chain(['…']).collect()
    }
}
