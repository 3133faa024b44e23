//! One flag that SIGINT, SIGTERM and SIGHUP raise.
//!
//! Whoever works for long looks at it between requests and at least every 20 ms. Nothing else happens in the handler:
//! what was changed (scheduler, mounts, started processes) is put back by the ordinary unwinding of its owners.
//! The handlers are installed without SA_RESTART, so that a sleep ends at once.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// The latest of the signals; 0: none has arrived.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn raise(signal: libc::c_int) {
    SIGNAL.store(signal, Ordering::Relaxed);
    request();
}

/// From now on the three signals raise the flag instead of ending the process.
///
/// # Errors
/// The kernel's.
pub fn install() -> io::Result<()> {
    let action = SigAction::new(SigHandler::Handler(raise), SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only stores to atomics, which is async-signal-safe.
        unsafe { sigaction(signal, &action) }?;
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

/// The exit status of who was interrupted, as a shell has it: 128 and the signal's number; none if none has arrived.
pub fn status() -> Option<u8> {
    let signal = SIGNAL.load(Ordering::Relaxed);
    if signal == 0 { None } else { u8::try_from(128 + signal).ok() }
}
