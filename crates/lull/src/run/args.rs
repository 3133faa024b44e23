//! The command line of `lull run`, which other commands that start a job have, too.

use std::ffi::OsString;

use clap::Args;
use lull_api::Said;
use lull_api::options::ThisRun;

/// Arguments of `lull run`. Its options are the table of [`lull_api::options`].
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: that of the command; 125 if lull itself failed, 126 if the command cannot be \
executed, 127 if it does not exist.\n\nA configuration file holds the same options in a section [run], without the \
dashes: interval = \"5ms\"."
)]
pub(crate) struct RunArgs {
    // First: what comes after the options would stand under the last heading of theirs.
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) said: Said,

    #[command(flatten)]
    pub(crate) this: ThisRun,
}
