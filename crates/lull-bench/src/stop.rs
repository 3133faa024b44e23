//! One flag that SIGINT, SIGTERM and SIGHUP raise.
//!
//! Loads and the harness look at it between requests and at least every 20 ms. Nothing else happens in the handler:
//! what was changed (scheduler, mounts, started processes) is put back by the ordinary unwinding of its owners.
//! The handlers are installed without SA_RESTART, so that a sleep ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::Error;
use crate::error::Context;

static REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn raise(_signal: libc::c_int) {
    request();
}

/// From now on the three signals raise the flag instead of ending the process.
pub fn install() -> Result<(), Error> {
    let action = SigAction::new(SigHandler::Handler(raise), SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { sigaction(signal, &action) }.to("install the signal handler")?;
    }
    Ok(())
}

/// Raises the flag as a signal would.
pub fn request() {
    REQUESTED.store(true, Ordering::Relaxed);
}

/// Whether one of the signals has arrived.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// [`Error::Interrupted`] once one of the signals has arrived.
pub fn check() -> Result<(), Error> {
    if requested() { Err(Error::Interrupted) } else { Ok(()) }
}
