//! Reading ahead for the job while the foreground is at work: which of its files are followed, and whose turn it is.
//!
//! A file that is read by trapped calls is followed from the first of them on, before it goes on (`Reader::adopt`). The kernel then
//! reads nothing ahead, and each call is a request of its own size that waits for its turn. Such a file gets no pieces: they would take
//! the turns of the calls.
//!
//! For files that are read without being trapped the job's descriptors are looked through every millisecond, or as often as takes a tenth of the time where there are many, and
//! only while the foreground is at work and the job makes requests that no gate has seen. While it makes none, whether it does is
//! asked less and less often: each question wakes lull beside a foreground that may want the CPU. A job that is held opens and
//! reads nothing: it is looked at once, for what it did last, and not at once when it is let go. Each piece is a background request like any other: it has a ticket, waits
//! in its disk's queue and is read when it is let go. Policy: [`lull_core::disk::read_ahead`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lull_core::{Nanos, Piece, ReadAheadPlan, Ticket};
use lull_linux::clock;
use lull_linux::gate::ahead::{BREAK_OFF_BYTES, BreakOff, OpenFile, Slot, slots};
use lull_linux::proc::process_of;

/// How often the job's descriptors are looked through.
const LOOK_EVERY: Nanos = Nanos::from_millis(1);
/// Without any, at the most, after twice as long each time.
const LOOK_EVERY_AT_REST: Nanos = Nanos::from_millis(16);
/// With many descriptors: from one look to the next so many times what it took.
const COST_SHARE: u64 = 10;
/// A file that is read by trapped calls is let go so soon after it was closed.
const CLOSED_WITHIN: Nanos = Nanos::from_millis(50);
/// Threads whose process is known, and descriptors that are read past the page cache; more are asked about again.
const MAX_KNOWN: usize = 1024;
/// Files followed at once; a job with more reads the rest without read-ahead of ours.
const MAX_FILES: usize = 64;
/// A burst that is in the device cannot be broken off: tries, one for each look.
const BREAKS: u32 = 48;
/// Read-aheads that one look breaks off: each takes up to a millisecond of the thread that also holds the job.
const BREAKS_PER_LOOK: u32 = 2;

struct Followed {
    file: OpenFile,
    ahead: ReadAheadPlan,
    disk: usize,
    /// The piece that waits for its turn.
    asked: Option<(u64, Piece)>,
    seen: bool,
    /// It is read by calls that wait for turns of their own.
    by_calls: bool,
    /// How often a read-ahead of the kernel may still be broken off.
    breaks: u32,
    /// Up to where the kernel may have read ahead; none before the first look.
    reach: Option<u64>,
    /// Up to where it is broken off.
    broken_until: u64,
    /// Whether that is the second time: a call may just have begun a burst.
    is_second: bool,
}

impl Followed {
    fn new(file: OpenFile, disk: usize) -> Self {
        Self {
            file,
            // Position zero is where it was opened: whatever has been read since shows that it is being read.
            ahead: ReadAheadPlan::new(0),
            disk,
            asked: None,
            seen: true,
            by_calls: false,
            breaks: BREAKS,
            reach: None,
            broken_until: 0,
            is_second: false,
        }
    }

    /// Ends the kernel's own read-ahead, which goes on for a while after it was turned off; one of `breaks` is used if pages had to be
    /// looked at.
    fn break_off(&mut self, read_ahead_bytes: u64, breaks: &mut u32) {
        if *breaks == 0 {
            return;
        }
        let Some(position) = self.file.position().filter(|_| self.breaks > 0) else { return };
        let reach =
            *self.reach.get_or_insert_with(|| position.saturating_add(read_ahead_bytes.saturating_mul(2)));
        let from = self.broken_until.max(position);
        if from < reach {
            self.breaks -= 1;
            *breaks -= 1;
            if self.file.break_off(from, self.ahead.until(), reach) == BreakOff::Over {
                self.broken_until = from.saturating_add(BREAK_OFF_BYTES);
            }
        } else if self.is_second {
            self.breaks = 0;
        } else {
            (self.is_second, self.broken_until) = (true, 0);
        }
    }
}

/// Bytes read ahead for the job so far; clones count together.
#[derive(Clone, Debug, Default)]
pub struct ReadAhead(Arc<AtomicU64>);

impl ReadAhead {
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Reader {
    files: HashMap<Slot, Followed>,
    /// When the next look is due, and whether the job was held at the last one.
    next: Nanos,
    looked_held: bool,
    /// When it was last checked which files are closed.
    checked: Nanos,
    /// From the last look to the next, at the least.
    pause: Nanos,
    /// Of threads that have read.
    process_of: HashMap<u32, i32>,
    /// Descriptors that are not read through the page cache.
    direct: HashSet<Slot>,
    /// Whether there may be a piece to ask for: somebody has read since the last time there was none.
    has_moved: bool,
    next_ticket: u64,
    /// What was read so far.
    pub(crate) done: ReadAhead,
}

impl Reader {
    /// Whether it is time to look through the job's descriptors; `is_held`: the job is held now.
    pub(crate) fn is_due(&mut self, now: Nanos, is_held: bool) -> bool {
        if self.looked_held && !is_held {
            self.looked_held = false;
            self.next = self.next.max(now.plus(LOOK_EVERY));
        }
        self.has_moved |= !is_held;
        now >= self.next && !(is_held && self.looked_held)
    }

    /// When that will be; `None` while the job is held and was looked at.
    pub(crate) fn next_look(&self, is_held: bool) -> Option<Nanos> {
        (!(is_held && self.looked_held)).then_some(self.next)
    }

    /// Whether there are files whose reading has to be seen.
    pub(crate) fn wants_look(&self) -> bool {
        self.files.values().any(|followed| !followed.by_calls)
    }

    /// Now and then: files that are read by trapped calls are let go once they are closed.
    pub(crate) fn let_closed_go(&mut self, now: Nanos) {
        if now.since(self.checked) >= CLOSED_WITHIN {
            self.checked = now;
            self.files.retain(|slot, followed| {
                let stays = !followed.by_calls || slot.stands();
                if !stays {
                    // Somebody else may have been given it.
                    followed.file.restore_kernel_read_ahead();
                }
                stays
            });
        }
    }

    /// Looks through the descriptors of these processes; `disk_of` tells which disk serves a
    /// file system, and how many bytes the kernel reads ahead there. None of them: the job made no request that matters.
    pub(crate) fn look(
        &mut self,
        is_held: bool,
        pids: &[i32],
        mut disk_of: impl FnMut(u64) -> Option<(usize, u64)>,
    ) {
        let began = clock::now();
        self.looked_held = is_held;
        self.has_moved = true;
        self.files.values_mut().for_each(|followed| followed.seen = followed.by_calls);
        let mut breaks = BREAKS_PER_LOOK;
        for slot in pids.iter().flat_map(|pid| slots(*pid)) {
            if let Some(followed) = self.files.get_mut(&slot) {
                followed.seen = true;
                if let Some((_, read_ahead_bytes)) = disk_of(followed.file.dev) {
                    followed.break_off(read_ahead_bytes, &mut breaks);
                }
            } else if self.files.len() < MAX_FILES
                && let Some(file) = OpenFile::open(&slot)
                && let Some((disk, read_ahead_bytes)) = disk_of(file.dev)
            {
                file.stop_kernel_read_ahead();
                let mut followed = Followed::new(file, disk);
                followed.break_off(read_ahead_bytes, &mut breaks);
                self.files.insert(slot, followed);
            }
        }
        // A piece that still waits keeps its file until it is let go.
        self.files.retain(|_, followed| followed.seen || followed.asked.is_some());
        let ended = clock::now();
        let longest = if pids.is_empty() { LOOK_EVERY_AT_REST } else { LOOK_EVERY };
        self.pause = self.pause.times(2).max(LOOK_EVERY).min(longest);
        self.next = ended.plus(ended.since(began).times(COST_SHARE).max(self.pause));
    }

    /// A trapped call of thread `tid` is about to read from a file on `disk`: the kernel reads nothing ahead of it.
    pub(crate) fn adopt(&mut self, tid: u32, fd: i32, inode: u64, disk: usize) {
        let Some(pid) = self.process_of(tid) else { return };
        let slot = Slot { pid, fd, inode };
        if let Some(followed) = self.files.get_mut(&slot) {
            followed.by_calls = true;
        } else if self.files.len() < MAX_FILES && !self.direct.contains(&slot) {
            let Some(file) = OpenFile::open(&slot) else {
                if self.direct.len() >= MAX_KNOWN {
                    self.direct.clear();
                }
                self.direct.insert(slot);
                return;
            };
            file.stop_kernel_read_ahead();
            self.files.insert(slot, Followed { by_calls: true, breaks: 0, ..Followed::new(file, disk) });
        }
    }

    fn process_of(&mut self, tid: u32) -> Option<i32> {
        if self.process_of.len() >= MAX_KNOWN {
            self.process_of.clear();
        }
        if let Some(pid) = self.process_of.get(&tid) {
            return Some(*pid);
        }
        let pid = process_of(tid)?;
        self.process_of.insert(tid, pid);
        Some(pid)
    }

    /// New requests, one per file at most: their disks, tickets and bytes.
    pub(crate) fn ask(&mut self) -> Vec<(usize, Ticket, u64)> {
        let mut tickets = Vec::new();
        if !std::mem::take(&mut self.has_moved) {
            return tickets;
        }
        for followed in self
            .files
            .values_mut()
            .filter(|followed| followed.seen && !followed.by_calls && followed.asked.is_none())
        {
            let Some(position) = followed.file.position() else { continue };
            if let Some(piece) = followed.ahead.next_piece(position, followed.file.size_bytes) {
                self.next_ticket += 1;
                let ticket = self.next_ticket;
                followed.asked = Some((ticket, piece));
                tickets.push((followed.disk, Ticket(ticket), piece.length));
            }
        }
        tickets
    }

    /// Reads the piece that was let go.
    pub(crate) fn read(&mut self, ticket: Ticket) {
        let named = |followed: &&mut Followed| followed.asked.is_some_and(|(asked, _)| asked == ticket.0);
        let Some(followed) = self.files.values_mut().find(named) else { return };
        self.has_moved = true;
        if let Some((_, piece)) = followed.asked.take()
            && followed.file.read_ahead(piece.offset, piece.length).is_ok()
        {
            self.done.add(piece.length);
        }
    }

    /// Whether any file is followed.
    pub(crate) fn is_following(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether this file is followed: the kernel then reads nothing ahead of its reader.
    pub(crate) fn follows(&self, inode: u64) -> bool {
        self.files.keys().any(|slot| slot.inode == inode)
    }

    /// Gives the files back to the kernel's read-ahead. Returns the tickets that still waited.
    pub(crate) fn stop(&mut self) -> Vec<(usize, Ticket)> {
        let files = std::mem::take(&mut self.files);
        files
            .into_values()
            .filter_map(|followed| {
                followed.file.restore_kernel_read_ahead();
                followed.asked.map(|(ticket, _)| (followed.disk, Ticket(ticket)))
            })
            .collect()
    }
}
