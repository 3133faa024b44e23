//! Queues of descriptors (R-8): a request is told by the reference through which it comes, not by the file.
//!
//! Problem: a tag belongs to one descriptor of one process. The kernel tells nobody when a descriptor is closed, and its number is given again.
//! To keep a duplicate would tell, but would keep the file open, too. Approach: the open file (what `open` makes and `dup` shares) carries a
//! *mark*: it is owned by this process and has a signal number, as `F_SETOWN` and `F_SETSIG` set them. Both mean nothing until somebody asks
//! for signals (`O_ASYNC`), vanish with the open file, and can be read through a borrowed descriptor, which the gate has at hand anyway.
//!
//! ```text
//!   (process, descriptor) ─▶ mark, queue        counts while the open file behind the descriptor carries this mark
//! ```
//!
//! | what a process does | then |
//! |---|---|
//! | `close`, and the number is given again | the new open file has no mark: the process's own queue |
//! | `dup` | the copy has the queue that the original had, until either is switched |
//! | `fork` | the child's descriptors have the queues of the parent's, until either is switched |
//! | `exec` | nothing changes |
//! | the original ends before its child is seen | the child's descriptors have its queues all the same |
//!
//! Copies are found when they are first used; those of a descriptor that is about to be switched are written down before (`settle`), so that
//! each has what it was copied with.
//!
//! Edge cases: of several descriptors of one open file with different queues, a new copy has that of the lowest; a descriptor whose owner the program has set itself cannot be marked, and one that it sets later loses its tag. Marks are few;
//! two open files share one only beyond [`MARKS`] that live.
//!
//! Source: Eclipse/BSD, section 2.3; `fcntl(2)`.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lull_core::Nanos;
use lull_core::reserve::Id;

use crate::clock;
use crate::gate::cached::borrow_descriptor;
use crate::proc::{StatLine, all, field, parent_of, process_of};

/// The same numbers on every architecture that lull is built for; `include/uapi/asm-generic/fcntl.h`.
const F_SETSIG: i32 = 10;
const F_GETSIG: i32 = 11;
/// Real-time signals that no C library uses for itself.
const FIRST_SIGNAL: i32 = 36;
const LAST_SIGNAL: i32 = 64;
/// How many marks there are.
const MARKS: i32 = LAST_SIGNAL - FIRST_SIGNAL + 1;
/// Up to so many tags are not worth looking through.
const FEW: usize = 64;
/// How long a thread's process is remembered.
const REMEMBERED: Nanos = Nanos::from_secs(1);
/// No line of ancestors is longer.
const MOST_ANCESTORS: usize = 64;

/// A queue of a disk: which gate, which reservation.
pub(super) type Queue = (usize, Id);

/// What a descriptor has: a queue, or that of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    mark: i32,
    queue: Option<Queue>,
    file: File,
    /// When the process started that has it.
    start: u64,
}

/// The mount and the inode.
pub(super) type File = (u64, u64);

#[derive(Debug, Default)]
struct Inner {
    of: HashMap<(i32, i32), Tag>,
    /// Processes of threads, and since when.
    known: HashMap<u32, i32>,
    since: Nanos,
    next: i32,
    /// How many tags make it worth looking for those that are gone.
    many: usize,
}

/// All tags of a mount.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// Whether there ever was one: most mounts have none, and no call asks further.
    any: AtomicBool,
    inner: Mutex<Inner>,
}

fn fcntl(file: &OwnedFd, what: i32, value: i32) -> io::Result<i32> {
    // SAFETY: these commands take and give integers.
    let outcome = unsafe { libc::fcntl(file.as_raw_fd(), what, value) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(outcome) }
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

/// The mark of an open file, if it has one of ours.
fn mark_of(file: &OwnedFd) -> Option<i32> {
    let signal = fcntl(file, F_GETSIG, 0).ok()?;
    let is_mark = (FIRST_SIGNAL..=LAST_SIGNAL).contains(&signal);
    (is_mark && fcntl(file, libc::F_GETOWN, 0).ok()? == own_pid()).then_some(signal)
}

/// Marks an open file.
fn mark(file: &OwnedFd, signal: i32) -> io::Result<()> {
    if (fcntl(file, F_GETSIG, 0)?, fcntl(file, libc::F_GETOWN, 0)?) != (0, 0) {
        let why = "the program has asked for signals about this descriptor (F_SETOWN, F_SETSIG), where its mark would stand";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    fcntl(file, libc::F_SETOWN, own_pid())?;
    fcntl(file, F_SETSIG, signal).map(drop)
}

fn unmark(file: &OwnedFd) {
    // The descriptor is as it was before the mark; what fails here has no effect on anybody.
    let _ = fcntl(file, F_SETSIG, 0);
    let _ = fcntl(file, libc::F_SETOWN, 0);
}

/// The mark behind a descriptor, if it is of this file.
fn mark_at(pid: i32, fd: i32, file: File) -> Option<i32> {
    if file_at(pid, fd)? != file {
        return None;
    }
    mark_of(&borrow_descriptor(pid.cast_unsigned(), fd).ok()?)
}

/// When a process started; nothing for one that has ended.
fn start_of(pid: i32) -> Option<u64> {
    StatLine::of(pid).filter(|line| line.state() != Some('Z'))?.start_ticks()
}

fn is_alive(pid: i32) -> bool {
    start_of(pid).is_some()
}

/// A process's ancestors, itself first.
fn upwards(pid: i32) -> impl Iterator<Item = i32> {
    std::iter::successors(Some(pid), |pid| parent_of(*pid).filter(|above| *above > 1)).take(MOST_ANCESTORS)
}

/// A process and its descendants.
fn family(pid: i32) -> Vec<i32> {
    let parents: HashMap<i32, i32> =
        all().into_iter().filter_map(|one| Some((one, parent_of(one)?))).collect();
    let line =
        |one: i32| std::iter::successors(Some(one), |one| parents.get(one).copied()).take(MOST_ANCESTORS);
    parents.keys().copied().filter(|one| line(*one).any(|above| above == pid)).collect()
}

/// Where a tag is kept whose descriptor is closed: no descriptor has such a number.
const fn closed(fd: i32) -> i32 {
    -1 - fd
}

/// What tells the file of a descriptor from others without asking its file system, which may be this process's own mount: that would wait
/// for itself.
pub(super) fn file_at(pid: i32, fd: i32) -> Option<File> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let number = |name| field(&text, name)?.parse().ok();
    // Linux 5.14 tells the inode.
    Some((number("mnt_id")?, number("ino").unwrap_or(0)))
}

/// The descriptors of a process that may be of the same open file.
fn descriptors_of(pid: i32, like: File) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|fd| file_at(pid, *fd) == Some(like)).collect()
}

impl Inner {
    fn process(&mut self, now: Nanos, tid: u32) -> Option<i32> {
        if now.since(self.since) > REMEMBERED {
            (self.since, _) = (now, self.known.clear());
        }
        if let Some(found) = self.known.get(&tid) {
            return Some(*found);
        }
        let found = process_of(tid)?;
        self.known.insert(tid, found);
        Some(found)
    }

    fn own(&self, pid: i32, fd: i32, mark: i32) -> Option<Tag> {
        self.of.get(&(pid, fd)).copied().filter(|tag| tag.mark == mark)
    }

    /// Any descriptor of a process with this mark, the lowest first.
    fn any_of(&self, pid: i32, mark: i32) -> Option<Tag> {
        let here = self.of.iter().filter(|((of, _), tag)| *of == pid && tag.mark == mark);
        here.min_by_key(|((_, fd), _)| *fd).map(|(_, tag)| *tag)
    }

    /// What a descriptor has whose open file carries `mark`: its own tag, or that of what it was copied from.
    fn resolve(&mut self, pid: i32, fd: i32, mark: i32) -> Option<Queue> {
        if let Some(tag) = self.own(pid, fd, mark) {
            return tag.queue;
        }
        let by_line =
            || upwards(pid).find_map(|above| self.own(above, fd, mark).or_else(|| self.any_of(above, mark)));
        let start = start_of(pid).unwrap_or(0);
        // Whoever copied it may have ended since; who was there before is no child of that.
        let by_the_dead = || {
            let same = self.of.iter().filter(|((of, _), tag)| tag.mark == mark && !is_alive(*of));
            let heir_of = same.filter(|(_, tag)| tag.start <= start);
            heir_of.min_by_key(|((_, of), _)| *of != fd).map(|(_, tag)| *tag)
        };
        let found = by_line().or_else(by_the_dead);
        let tag = found.unwrap_or(Tag { mark, queue: None, file: (0, 0), start });
        let tag = Tag { start, ..tag };
        if let Some(before) = self.of.insert((pid, fd), tag) {
            // The number was given again; what was copied from the one before may be still there.
            self.of.insert((pid, closed(fd)), before);
        }
        tag.queue
    }

    /// Writes down what copies of an open file have, that these processes hold.
    fn settle(&mut self, pids: impl Iterator<Item = i32>, file: File, mark: i32) {
        for pid in pids {
            for fd in descriptors_of(pid, file) {
                if mark_at(pid, fd, file) == Some(mark) {
                    let _written_down = self.resolve(pid, fd, mark);
                }
            }
        }
    }

    /// One that no living tag has, if any is left.
    fn unused_mark(&mut self) -> i32 {
        let used = |mark: i32| self.of.values().any(|tag| tag.mark == mark);
        let order = (0..MARKS).map(|step| FIRST_SIGNAL + (self.next + step) % MARKS);
        let mark = order.clone().find(|mark| !used(*mark)).unwrap_or(FIRST_SIGNAL + self.next);
        self.next = (mark - FIRST_SIGNAL + 1) % MARKS;
        mark
    }

    /// Forgets descriptors that are closed, and processes that have ended; what was copied from them is written down first.
    fn purge(&mut self) {
        let is_gone = |((pid, fd), tag): &(&(i32, i32), &Tag)| mark_at(*pid, *fd, tag.file) != Some(tag.mark);
        let gone: Vec<_> = self.of.iter().filter(is_gone).map(|(key, tag)| (*key, *tag)).collect();
        for ((pid, _), tag) in gone.iter().filter(|(_, tag)| tag.queue.is_some()) {
            // Those of a process that has ended are nobody's descendants.
            let heirs = if is_alive(*pid) { family(*pid) } else { all() };
            self.settle(heirs.into_iter(), tag.file, tag.mark);
        }
        for (key, tag) in gone {
            if self.of.get(&key) == Some(&tag) {
                self.of.remove(&key);
            }
        }
        self.many = FEW.max(self.of.len() * 2);
    }
}

impl Tags {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call need not ask.
    pub(super) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Relaxed)
    }

    /// The queue of a thread's descriptor, where that is not its process's.
    pub(super) fn queue_of_thread(&self, tid: u32, fd: i32) -> Option<Queue> {
        if self.is_empty() {
            return None;
        }
        let mark = mark_of(&borrow_descriptor(tid, fd).ok()?)?;
        let mut inner = self.lock();
        let pid = inner.process(clock::now(), tid)?;
        inner.resolve(pid, fd, mark)
    }

    /// The same by the process.
    pub(super) fn queue_of(&self, pid: i32, fd: i32) -> Option<Queue> {
        if self.is_empty() {
            return None;
        }
        let mark = mark_of(&borrow_descriptor(pid.cast_unsigned(), fd).ok()?)?;
        self.lock().resolve(pid, fd, mark)
    }

    /// Switches a descriptor's queue; `None` gives it its process's.
    ///
    /// # Errors
    /// The kernel's; `ResourceBusy` where the program uses what would be the mark.
    pub(super) fn set(&self, pid: i32, fd: i32, queue: Option<Queue>) -> io::Result<()> {
        let file = borrow_descriptor(pid.cast_unsigned(), fd)?;
        let start = start_of(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        let mut inner = self.lock();
        if inner.of.len() > inner.many.max(FEW) {
            inner.purge();
        }
        let marked = match mark_of(&file) {
            Some(found) => found,
            None if queue.is_none() => return Ok(()),
            None => {
                ignore_signals()?;
                let found = inner.unused_mark();
                mark(&file, found)?;
                found
            }
        };
        let of = file_at(own_pid(), file.as_raw_fd()).ok_or(io::ErrorKind::NotFound)?;
        // This process's own copy is nobody's reference.
        drop(file);
        inner.settle(family(pid).into_iter(), of, marked);
        inner.of.insert((pid, fd), Tag { mark: marked, queue, file: of, start });
        self.any.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether a descriptor uses a queue.
    pub(super) fn uses(&self, queue: Queue) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut inner = self.lock();
        inner.purge();
        inner.of.values().any(|tag| tag.queue == Some(queue))
    }

    /// Takes all marks of one gate, or of all, off again.
    pub(super) fn clear(&self, gate: usize) {
        let mut inner = self.lock();
        inner.purge();
        let here: Vec<_> = inner
            .of
            .iter()
            .filter(|(_, tag)| tag.queue.is_none_or(|(of, _)| of == gate))
            .map(|(key, _)| *key)
            .collect();
        for (pid, fd) in here {
            let tag = inner.of.remove(&(pid, fd));
            if tag.is_some_and(|tag| mark_at(pid, fd, tag.file).is_some())
                && let Ok(file) = borrow_descriptor(pid.cast_unsigned(), fd)
            {
                unmark(&file);
            }
        }
    }
}

/// A lease that is broken sends the signal to an open file's owner, which is this process: it must not end by it.
fn ignore_signals() -> io::Result<()> {
    for signal in FIRST_SIGNAL..=LAST_SIGNAL {
        // SAFETY: ignoring a signal runs no code.
        if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
