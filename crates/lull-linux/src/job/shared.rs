//! What must be undone when the supervisor dies, in memory shared by front, supervisor and guardian: calls that were
//! received and not yet answered, and processes that were stopped.
//!
//! A notification that a process has received is not delivered again when that process is killed: its thread would
//! wait for ever. So the kernel writes each record straight into this memory (no moment at which only the receiver
//! knows of it), and a call that has to wait stays listed until it is answered. After a death the heir passes all that
//! is listed; passing a call twice is harmless. Processes are listed before they are stopped: continuing one that runs is
//! harmless, too.

use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::seccomp_notif;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::stat::fstat;
use nix::unistd::ftruncate;

/// Calls that can wait at once; more than that pass at once instead of waiting.
pub const MAX_WAITING: usize = 4096;
/// Processes that can be stopped at once; more than that run on.
pub const MAX_STOPPED: usize = 1024;
/// Process ids end below 2^22 (`PID_MAX_LIMIT`); the other bits of a key are for the start time.
const PID_BITS: u32 = 22;

#[repr(C)]
struct Layout {
    space: UnsafeCell<seccomp_notif>,
    /// Ids plus one, so that zero is free.
    waiting: [AtomicU64; MAX_WAITING],
    stopped: [AtomicU64; MAX_STOPPED],
}

/// A process that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stopped {
    /// Its id.
    pub pid: i32,
    /// Its start time in clock ticks after boot: ids are used again.
    pub start: u64,
}

impl Stopped {
    /// Never zero, which marks a free place: no process has id 0.
    fn key(self) -> u64 {
        self.start << PID_BITS | u64::from(self.pid.unsigned_abs())
    }

    fn from_key(key: u64) -> Option<Self> {
        let pid = i32::try_from(key & ((1 << PID_BITS) - 1)).ok()?;
        (key != 0).then_some(Self { pid, start: key >> PID_BITS })
    }
}

/// Puts `key` into a free place; false if there is none.
fn put(places: &[AtomicU64], key: u64) -> bool {
    let mut free = places.iter().filter(|place| place.load(Ordering::Relaxed) == 0);
    free.any(|place| place.compare_exchange(0, key, Ordering::SeqCst, Ordering::Relaxed).is_ok())
}

/// Frees the place of `key`.
fn take(places: &[AtomicU64], key: u64) {
    if let Some(place) = places.iter().find(|place| place.load(Ordering::Relaxed) == key) {
        place.store(0, Ordering::SeqCst);
    }
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

    /// The same in a file without a name, which another process can map by [`Self::of`]. It cannot shrink.
    ///
    /// # Errors
    /// Out of memory or descriptors.
    pub fn with_file() -> io::Result<(Self, OwnedFd)> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = memfd_create(c"lull-calls", flags)?;
        ftruncate(&file, i64::try_from(size_of::<Layout>()).map_err(io::Error::other)?)?;
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK))?;
        Ok((Self::of(&file)?, file))
    }

    /// Maps what [`Self::with_file`] has made, here or in another process.
    ///
    /// # Errors
    /// InvalidInput for any other file: one that shrinks would be a fault at the next access.
    pub fn of(file: &OwnedFd) -> io::Result<Self> {
        let seals = SealFlag::from_bits_retain(fcntl(file, FcntlArg::F_GET_SEALS)?);
        let length = usize::try_from(fstat(file)?.st_size).unwrap_or(0);
        if !seals.contains(SealFlag::F_SEAL_SHRINK) || length < size_of::<Layout>() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is not memory for calls"));
        }
        // SAFETY: a new mapping of a file that is long enough and stays so.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Layout>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
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
        put(&self.layout().waiting, id.wrapping_add(1))
    }

    /// Takes a call off the list, after it was answered.
    pub fn unlist(&self, id: u64) {
        take(&self.layout().waiting, id.wrapping_add(1));
    }

    /// Lists a process that is about to be stopped. False when the table is full: it must run on.
    pub fn list_stopped(&self, stopped: Stopped) -> bool {
        put(&self.layout().stopped, stopped.key())
    }

    /// Takes a process off the list, after it was continued.
    pub fn unlist_stopped(&self, stopped: Stopped) {
        take(&self.layout().stopped, stopped.key());
    }

    /// All processes that may be stopped.
    pub fn stopped(&self) -> Vec<Stopped> {
        let keys = self.layout().stopped.iter().map(|place| place.load(Ordering::SeqCst));
        keys.filter_map(Stopped::from_key).collect()
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
