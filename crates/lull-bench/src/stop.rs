//! The flag of [`lull_linux::stop`], as an error.

pub(crate) use lull_linux::stop::{request, requested};

use crate::Error;
use crate::error::Context;

/// From now on SIGINT, SIGTERM and SIGHUP raise the flag instead of ending the process.
pub(crate) fn install() -> Result<(), Error> {
    lull_linux::stop::install().to("install the signal handler")
}

/// [`Error::Interrupted`] once one of the signals has arrived.
pub(crate) fn check() -> Result<(), Error> {
    if requested() { Err(Error::Interrupted) } else { Ok(()) }
}
