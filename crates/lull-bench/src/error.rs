//! What can go wrong in a measurement, each with the thing it happened to and, where there is one, the next
//! step.

use std::io;
use std::path::{Path, PathBuf};

use lull_linux::stop;

/// Why a load, an experiment or a report did not finish.
///
/// The line of each is whole: it is recorded and told by itself. So the cause is no
/// [`source`](std::error::Error::source), which whoever prints a chain of errors would say a second time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or device failed.
    #[error("{}: cannot {doing}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, to read after "cannot".
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// A system call that concerns no file failed.
    #[error("cannot {doing}: {cause}")]
    System {
        /// What was tried, to read after "cannot".
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// A started process did not do what it was started for.
    #[error("'{command}': {problem}")]
    Process {
        /// The command line.
        command: String,
        /// What it did instead.
        problem: String,
    },
    /// An argument is well formed but cannot be used.
    #[error("{argument}: {problem}")]
    Argument {
        /// The flag and its value.
        argument: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// The machine or the user lacks something.
    #[error("{what} is missing: {detail}")]
    Unmet {
        /// What is needed.
        what: String,
        /// How that shows and what would help.
        detail: String,
    },
    /// A record file holds a line that is not a record.
    #[error("{}:{line}: not a record of a run: {cause}; remove the line or measure again", path.display())]
    Record {
        /// The record file.
        path: PathBuf,
        /// Line number from 1.
        line: usize,
        /// What the parser said.
        cause: serde_json::Error,
    },
    /// A picture could not be drawn.
    #[error("{}: cannot draw the picture: {problem}", path.display())]
    Picture {
        /// The SVG file.
        path: PathBuf,
        /// What the drawing library said.
        problem: String,
    },
    /// SIGINT, SIGTERM or SIGHUP arrived; what was changed has been put back.
    #[error("interrupted; the runs measured so far are kept")]
    Interrupted,
}

impl Error {
    /// The exit status of a program that ends with it: 128 and the signal's number after an interruption, as
    /// a shell has it; else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Interrupted => stop::status().unwrap_or(1),
            _ => 1,
        }
    }
}

/// Adds the path and the deed to an [`io::Error`].
pub(crate) trait Context<T> {
    /// `doing` reads after "cannot".
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error>;
    /// The same for calls that concern no file.
    fn to(self, doing: &'static str) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|cause| Error::Io { path: path.to_owned(), doing, cause: cause.into() })
    }

    fn to(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|cause| Error::System { doing, cause: cause.into() })
    }
}

#[cfg(test)]
mod tests;
