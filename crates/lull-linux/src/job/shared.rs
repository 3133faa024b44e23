//! Calls that were received and not yet answered, in memory shared by front, supervisor and guardian.
//!
//! A notification that a process has received is not delivered again when that process is killed: its thread would
//! wait for ever. So the kernel writes each record straight into this memory (no moment at which only the receiver
//! knows of it), and a call that has to wait stays listed until it is answered. After a death the heir passes all that
//! is listed; passing a call twice is harmless.

use std::cell::UnsafeCell;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::seccomp_notif;

/// Calls that can wait at once; more than that pass at once instead of waiting.
pub const MAX_WAITING: usize = 4096;

#[repr(C)]
struct Layout {
    space: UnsafeCell<seccomp_notif>,
    /// Ids plus one, so that zero is free.
    waiting: [AtomicU64; MAX_WAITING],
}

/// Memory that is shared with children forked later.
#[derive(Debug)]
pub struct Shared(NonNull<Layout>);

// SAFETY: `waiting` is atomics only; `space` is handed out as a raw pointer with its own contract.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps fresh zeroed memory.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a new anonymous mapping of our own.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Layout>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(memory.cast()).map(Self).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
    }

    fn layout(&self) -> &Layout {
        // SAFETY: mapped for as long as self lives; zeroed memory is a valid Layout.
        unsafe { self.0.as_ref() }
    }

    /// Where the one receiving thread lets the kernel write.
    pub fn space(&self) -> *mut seccomp_notif {
        self.layout().space.get()
    }

    /// Lists a call as waiting. False when the table is full: the caller must pass it at once.
    pub fn list(&self, id: u64) -> bool {
        let free = self.layout().waiting.iter().find(|slot| {
            slot.load(Ordering::Relaxed) == 0
                && slot.compare_exchange(0, id.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed).is_ok()
        });
        free.is_some()
    }

    /// Takes a call off the list, after it was answered.
    pub fn unlist(&self, id: u64) {
        let key = id.wrapping_add(1);
        if let Some(slot) = self.layout().waiting.iter().find(|slot| slot.load(Ordering::Relaxed) == key) {
            slot.store(0, Ordering::SeqCst);
        }
    }

    /// All calls that may still wait for an answer: the listed ones and the last one received.
    pub fn unanswered(&self) -> Vec<u64> {
        // SAFETY: read after the receiver's death, or by itself; a torn value is an id that nobody waits for.
        let last = unsafe { (*self.space()).id };
        let listed = self.layout().waiting.iter().map(|slot| slot.load(Ordering::SeqCst));
        listed.filter(|key| *key != 0).map(|key| key.wrapping_sub(1)).chain([last]).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: our own mapping, not used after this.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Layout>()) };
    }
}

#[cfg(test)]
mod tests;
