//! Signals that the front hands on, and that a helper takes none of.

use nix::sys::signal::Signal;

/// Handed on to the job when sent to the front alone.
pub(crate) const FORWARDED: [Signal; 8] = [
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGWINCH,
];
