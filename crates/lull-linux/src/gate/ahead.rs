//! The job's open files, as far as reading ahead goes: finding them, turning the kernel's read-ahead off and on, asking
//! for a piece.
//!
//! The descriptors are duplicated out of the job (pidfd_getfd), so that position and advice are those of the job's own
//! open file. POSIX_FADV_RANDOM turns the kernel's read-ahead off for that open file alone, POSIX_FADV_NORMAL on again;
//! other programs' open files, and the disk's `read_ahead_kb`, are not touched.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::gate::cached::{PAGE_BYTES, borrow_descriptor, resident_pages};

mod marks;

/// Files below this size are read by a request or two: nothing to gain.
const MIN_BYTES: u64 = 256 * 1024;

/// A page of the cache may be part of something as large as this, which goes or stays as a whole.
const LARGEST_FOLIO: u64 = 2 << 20;

/// So much is looked at by one [`OpenFile::break_off`]: about a millisecond's work.
pub const BREAK_OFF_BYTES: u64 = 2 << 20;

/// What became of an attempt to break off the kernel's read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakOff {
    /// Pages with a mark were dropped, or the pages are still being read: look again.
    Goes,
    /// Nothing there reads on.
    Over,
}

/// A regular file that the job has open for reading through the page cache.
#[derive(Debug)]
pub struct OpenFile {
    file: OwnedFd,
    /// Device number of its file system.
    pub dev: u64,
    /// Its size when found.
    pub size_bytes: u64,
}

/// Names one descriptor of one process; what it refers to may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The process.
    pub pid: i32,
    /// The descriptor.
    pub fd: i32,
    /// The file's inode, so that a descriptor used anew is a slot of its own.
    pub inode: u64,
}

impl Slot {
    /// Whether the descriptor still refers to that file.
    pub fn stands(&self) -> bool {
        stat_of(&format!("/proc/{}/fd/{}", self.pid, self.fd)).is_some_and(|stat| stat.st_ino == self.inode)
    }
}

fn stat_of(path: &str) -> Option<libc::stat> {
    let path = std::ffi::CString::new(path).ok()?;
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a terminated path and room for the answer, which is read only on success.
    unsafe { (libc::stat(path.as_ptr(), stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
}

/// The slots of process `pid` that refer to regular files worth following.
pub fn slots(pid: i32) -> Vec<Slot> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let fd = entry.file_name().to_str()?.parse().ok()?;
            let stat = stat_of(entry.path().to_str()?)?;
            let size = u64::try_from(stat.st_size).ok()?;
            let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
            (is_file && size >= MIN_BYTES).then_some(Slot { pid, fd, inode: stat.st_ino })
        })
        .collect()
}

impl OpenFile {
    /// Takes hold of what `slot` refers to; `None` if that is not a file read through the page cache, or gone.
    pub fn open(slot: &Slot) -> Option<Self> {
        let file = borrow_descriptor(u32::try_from(slot.pid).ok()?, slot.fd).ok()?;
        // SAFETY: reading flags changes nothing.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        if flags < 0 || flags & libc::O_DIRECT != 0 || flags & libc::O_ACCMODE == libc::O_WRONLY {
            return None;
        }
        let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: an open descriptor and room for the answer, which is read only on success.
        let stat = unsafe {
            if libc::fstat(file.as_raw_fd(), stat.as_mut_ptr()) != 0 {
                return None;
            }
            stat.assume_init()
        };
        let size_bytes = u64::try_from(stat.st_size).ok()?;
        (stat.st_ino == slot.inode).then_some(Self { file, dev: stat.st_dev, size_bytes })
    }

    /// Where the job reads next.
    pub fn position(&self) -> Option<u64> {
        // SAFETY: asking for the position changes nothing.
        u64::try_from(unsafe { libc::lseek(self.file.as_raw_fd(), 0, libc::SEEK_CUR) }).ok()
    }

    fn advise(&self, advice: libc::c_int) {
        // SAFETY: advice about an open file. A file system that takes none reads ahead as it likes.
        unsafe { libc::posix_fadvise(self.file.as_raw_fd(), 0, 0, advice) };
    }

    /// Turns the kernel's read-ahead off for this open file.
    pub fn stop_kernel_read_ahead(&self) {
        self.advise(libc::POSIX_FADV_RANDOM);
    }

    /// Turns it on again.
    pub fn restore_kernel_read_ahead(&self) {
        self.advise(libc::POSIX_FADV_NORMAL);
    }

    /// Breaks off a read-ahead of the kernel that is under way: each of its bursts leaves a mark on a page that starts
    /// the next one when the reader comes by, whatever was advised meanwhile. Only pages with such a mark are dropped, within
    /// [`BREAK_OFF_BYTES`] from `from`: nobody has read them yet. Other pages may be somebody else's. The reader's own come back with the
    /// pieces read for it.
    ///
    /// Where marks cannot be seen, all from there to `reach`, up to which such bursts go, is dropped, but for what was read for the job
    /// `until` there, and only if no more of the file is cached than bursts bring in.
    pub fn break_off(&self, from: u64, until: u64, reach: u64) -> BreakOff {
        let reach = reach.min(self.size_bytes);
        let end = from.saturating_add(BREAK_OFF_BYTES).min(reach);
        // A large folio that the reader is in may bear a mark, too.
        let first = from - from % LARGEST_FOLIO;
        let Some(length) = end.checked_sub(first).filter(|length| *length > 0) else { return BreakOff::Over };
        let Ok((resident @ 1.., _)) = resident_pages(&self.file, first, length) else {
            return BreakOff::Over;
        };
        match marks::find(&self.file, first, length) {
            Ok(marks) => {
                marks.ranges.iter().for_each(|(offset, length)| self.drop_pages(*offset, *length));
                // Both count pages; what is not to be looked at is being read.
                let is_over = marks.ranges.is_empty() && marks.looked_at >= resident;
                if is_over { BreakOff::Over } else { BreakOff::Goes }
            }
            Err(_) => self.break_off_unseen(until.max(from), reach),
        }
    }

    /// The same without knowing whose pages they are.
    fn break_off_unseen(&self, from: u64, end: u64) -> BreakOff {
        let from = from.next_multiple_of(PAGE_BYTES);
        let cached = |from: u64, end: u64| resident_pages(&self.file, from, end.saturating_sub(from));
        let has_more = cached(end, self.size_bytes).is_ok_and(|(resident, _)| resident > 0);
        match cached(from, end) {
            Ok((resident @ 1.., all)) if !has_more && resident < all => {
                self.drop_pages(from, end - from);
                BreakOff::Goes
            }
            _ => BreakOff::Over,
        }
    }

    /// Drops clean pages that nobody has mapped.
    fn drop_pages(&self, offset: u64, length: u64) {
        if let (Ok(offset), Ok(length)) = (i64::try_from(offset), i64::try_from(length)) {
            // SAFETY: advice about an open file.
            unsafe { libc::posix_fadvise(self.file.as_raw_fd(), offset, length, libc::POSIX_FADV_DONTNEED) };
        }
    }

    /// Asks for pages of a range; returns once the requests are under way.
    ///
    /// # Errors
    /// As readahead(2).
    pub fn read_ahead(&self, offset: u64, length: u64) -> io::Result<()> {
        let offset = i64::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let length = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: an open descriptor and two numbers.
        if unsafe { libc::readahead(self.file.as_raw_fd(), offset, length) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// Turns the kernel's read-ahead on again for all files of these processes: for the heir of a dead supervisor.
pub fn restore(pids: impl IntoIterator<Item = i32>) {
    for slot in pids.into_iter().flat_map(slots) {
        if let Some(file) = OpenFile::open(&slot) {
            file.restore_kernel_read_ahead();
        }
    }
}

#[cfg(test)]
mod tests;
