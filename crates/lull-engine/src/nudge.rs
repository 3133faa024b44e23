//! Waking a thread that sleeps in poll(2), from any other.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// An event counter of the kernel that ends a thread's sleep.
pub struct Nudge(OwnedFd);

impl AsRawFd for Nudge {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Nudge {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Nudge {
    /// A counter that nobody waits for yet.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn new() -> nix::Result<Self> {
        use nix::sys::eventfd::{EfdFlags, EventFd};
        Ok(Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?.into()))
    }

    /// Wakes whoever waits, or lets them not fall asleep.
    pub fn give(&self) {
        // A full counter has nudged already.
        let _ = nix::unistd::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes what was given.
    pub fn take(&self) {
        let _ = nix::unistd::read(&self.0, &mut [0; 8]);
    }
}
