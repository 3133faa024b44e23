//! Waiting for a time, or for a signal that comes before.

use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::time::TimeSpec;

/// Signals that come only where they are waited for.
pub(crate) struct Signals(SigSet);

impl Signals {
    /// From now on these come to this thread only when it waits.
    ///
    /// # Errors
    /// When they cannot be blocked.
    pub(crate) fn block(signals: impl IntoIterator<Item = Signal>) -> nix::Result<Self> {
        let set = SigSet::from_iter(signals);
        set.thread_block()?;
        Ok(Self(set))
    }

    /// Whether one of them came within the time.
    pub(crate) fn came_within(&self, time: Duration) -> bool {
        let time = TimeSpec::from_duration(time);
        // SAFETY: both are owned by this frame; no information on the signal is asked for.
        let signal = unsafe { libc::sigtimedwait(self.0.as_ref(), std::ptr::null_mut(), time.as_ref()) };
        signal > 0
    }
}

#[cfg(test)]
mod tests;
