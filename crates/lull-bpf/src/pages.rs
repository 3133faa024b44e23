//! Observing the page cache: which pages of which files the job brought in, and which it made dirty.
//!
//! A page that was in the cache before is never added to it, so the pages told here are exactly those that were not there
//! before the job read them; no look at the cache beforehand is needed, and files that are open for microseconds are seen
//! like any other. Read-ahead runs in the reader's own task, so it is told too; so is what `own`, the process that reads
//! ahead for the job, brings in.
//!
//! Units: pages of the kernel, in chunks of [`CHUNK_PAGES`](lull_core::memory::pages::CHUNK_PAGES). A file is named by the
//! device, the inode number and its generation, as file handles name it.
//!
//! Missed events: while more than 16,384 chunks are touched between two looks, the rest is only counted
//! ([`PageCounts::missed`]); a tracing program that would re-enter itself is skipped. What is missed stays in the cache.
//! A folio of more than a page counts as one page before Linux 6.6. Files without a device of their own (memory, network,
//! btrfs, which numbers its subvolumes) are not told.
//!
//! Source: `include/trace/events/filemap.h`, `include/trace/events/writeback.h`.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use libbpf_rs::{MapCore, MapFlags};
use lull_core::memory::pages::{CHUNK_WORDS, PageSet};
use memmap2::MmapRaw;

use crate::load::{Aligned, Loaded, Observers, Protect, SensorError};

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/pages.bpf.o")));

/// Chunks taken from the kernel by one call.
const BATCH: u32 = 512;
const MAPS: [&str; 2] = ["pages_0", "pages_1"];

/// `struct lull_pages`.
#[repr(C)]
#[derive(Debug)]
struct RawPages {
    job_group: AtomicU64,
    own: AtomicU32,
    side: AtomicU32,
    wake_pages: AtomicU64,
    unseen: AtomicU64,
    filled: AtomicU64,
    dirtied: AtomicU64,
    missed: AtomicU64,
}

/// `struct lull_chunk`.
const KEY_BYTES: usize = 24;
/// `struct lull_chunk_pages`.
const VALUE_BYTES: usize = 2 * 8 * CHUNK_WORDS;

const _: () = {
    assert!(size_of::<RawPages>() == 56);
    assert!(VALUE_BYTES == 256);
};

/// Whose pages are watched, and how often somebody wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSettings {
    /// The cgroup v2 id (inode number) of the job's group.
    pub job_group: u64,
    /// The process that reads ahead for the job.
    pub own: u32,
    /// Pages between two wake-ups.
    pub wake_pages: u64,
}

/// A part of a file, [`CHUNK_PAGES`](lull_core::memory::pages::CHUNK_PAGES) long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chunk {
    /// The device of its file system, as the kernel writes it.
    pub dev: u32,
    /// Inode number.
    pub inode: u64,
    /// Which of the files that had this inode number.
    pub generation: u32,
    /// Which chunk of the file.
    pub index: u64,
}

/// What the job did to a chunk since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Where.
    pub chunk: Chunk,
    /// Pages that were not in the cache and are now.
    pub filled: PageSet,
    /// Pages that were clean, or not there, and are dirty now.
    pub dirtied: PageSet,
}

/// Pages, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Brought in by the job.
    pub filled: u64,
    /// Made dirty by the job.
    pub dirtied: u64,
    /// Of both, those that could not be recorded.
    pub missed: u64,
}

/// The loaded observers. Detached when it goes, also by kill -9: nothing is pinned.
pub struct PageSensor {
    programs: Loaded,
    shared: Arc<MmapRaw>,
}

impl std::fmt::Debug for PageSensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSensor").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl PageSensor {
    /// Loads and attaches the programs. Needs CAP_BPF and CAP_PERFMON (or root), kernel BTF and kernel 5.16.
    ///
    /// # Errors
    /// When the kernel is too old, the rights are missing or a program is refused.
    pub fn load(settings: &PageSettings) -> Result<Self, SensorError> {
        let mut programs = Loaded::load(Observers::Pages, &PROGRAMS.0, &Protect::default(), |_| Ok(()))?;
        let shared = programs.mapped("pages_shared", size_of::<RawPages>())?;
        let raw = raw(&shared);
        raw.job_group.store(settings.job_group, Ordering::Relaxed);
        raw.own.store(settings.own, Ordering::Relaxed);
        raw.wake_pages.store(settings.wake_pages, Ordering::Relaxed);
        programs.attach()?;
        Ok(Self { programs, shared })
    }

    /// How much was seen so far. Costs no system call.
    pub fn counts(&self) -> PageCounts {
        let raw = raw(&self.shared);
        PageCounts {
            filled: raw.filled.load(Ordering::Relaxed),
            dirtied: raw.dirtied.load(Ordering::Relaxed),
            missed: raw.missed.load(Ordering::Relaxed),
        }
    }

    /// What was touched before the look before this one, and not told yet. The programs then turn to the other map, which
    /// the next look takes: so no program writes to what is being taken, if looks are further apart than a program takes
    /// (about a microsecond).
    ///
    /// # Errors
    /// When the kernel refuses to hand it out.
    pub fn take(&self) -> Result<Vec<Touched>, SensorError> {
        let raw = raw(&self.shared);
        let idle = (raw.side.load(Ordering::Relaxed) + 1) & 1;
        let map = self.programs.map(MAPS[idle as usize])?;
        let taken = map.lookup_and_delete_batch(BATCH, MapFlags::ANY, MapFlags::ANY);
        let taken = taken.map_err(|source| SensorError::Bpf {
            observers: Observers::Pages,
            step: "take the pages",
            source,
        })?;
        let touched = taken.filter_map(|(key, value)| parse(&key, &value)).collect();
        raw.unseen.store(0, Ordering::Relaxed);
        raw.side.store(idle, Ordering::Release);
        Ok(touched)
    }

    /// A descriptor that polls readable when as many pages as were set have been touched.
    pub fn wake_fd(&self) -> RawFd {
        self.programs.wake_fd()
    }

    /// Takes all wake-ups that are there.
    pub fn drain(&self) {
        self.programs.drain();
    }
}

fn raw(shared: &MmapRaw) -> &RawPages {
    // SAFETY: the mapping holds one record, of atomics, and lives as long as the reference.
    unsafe { &*shared.as_mut_ptr().cast::<RawPages>() }
}

fn parse(key: &[u8], value: &[u8]) -> Option<Touched> {
    if key.len() < KEY_BYTES || value.len() < VALUE_BYTES {
        return None;
    }
    let long = |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_ne_bytes(key.get(at..at + 4)?.try_into().ok()?));
    let set = |from: usize| {
        let words = (0..CHUNK_WORDS).map(|i| long(value, from + 8 * i));
        Some(PageSet(words.collect::<Option<Vec<u64>>>()?.try_into().ok()?))
    };
    Some(Touched {
        chunk: Chunk { inode: long(key, 0)?, index: long(key, 8)?, dev: short(16)?, generation: short(20)? },
        filled: set(0)?,
        dirtied: set(8 * CHUNK_WORDS)?,
    })
}
