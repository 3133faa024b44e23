//! What a run of lull may be told.
//!
//! Problem: an option that is described in several places (command line, configuration file, manual, documents) means something
//! else in each of them after a while.
//! Approach: each option is one row of one table, a field of a group in [`options`]. Everything else is made from the rows:
//!
//! ```text
//!                       ┌─▶ command line, --help, completions, manual page   (clap)
//!  options.rs: one row ─┼─▶ the same key in the configuration file           (file.rs: words of a command line)
//!  name unit default    ├─▶ what wins                                        (given.rs)
//!  effect trade-off     ├─▶ lull set, for those that may change              (Thresholds)
//!                       └─▶ the tables of docs/run.md                        (by a test)
//! ```
//!
//! The precedence is command line, configuration file, default. What options mean together, such as one that needs another, is decided
//! where they are used.

mod choice;
pub mod file;
mod given;
pub mod options;

pub use choice::policy::PolicyChoice;
pub use choice::qdisc::QdiscChoice;
pub use choice::slo::{SloChoice, SloSource};
pub use choice::{CleanChoice, HoldChoice, LongestHold, ResourceChoice, SensorChoice, StatusChoice};
pub use given::{Given, Said, names_under, takes_value_by_equals};
pub use options::{Options, Thresholds};

#[cfg(test)]
mod tests;
