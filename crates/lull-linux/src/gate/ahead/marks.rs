//! Which cached pages of a file still bear the kernel's mark to read on.
//!
//! Each burst of the kernel's read-ahead marks one of its pages; whoever reads that one starts the next burst, and takes the mark away. A
//! mark is in no file's state but in the flags of the page (PG_readahead, which is PG_reclaim), so the pages are looked at: what is
//! resident of the range is mapped for a moment, and `/proc/self/pagemap` and `/proc/kpageflags` tell the rest.
//!
//! ```text
//!   mincore ──resident runs──▶ MADV_POPULATE_READ ──▶ pagemap: frames ──▶ kpageflags: marked, part of a large folio
//! ```
//! The mapping is one of random access, so that looking starts no read and counts as no use. Pages that are being read are not told: they
//! may bear a mark, too. Needs CAP_SYS_ADMIN; else frames are not told.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::gate::evict::page_bytes;

/// Bits of `/proc/kpageflags`: PG_reclaim, which means something else on pages to be written; and all but the first page of a folio.
const RECLAIM: u64 = 1 << 9;
const UNWRITTEN: u64 = 1 << 4 | 1 << 8;
const TAIL: u64 = 1 << 16;
/// Of an entry of `/proc/self/pagemap`: there is a page, and its frame.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;
const ENTRY: usize = size_of::<u64>();

/// Pages of a file that are mapped, until this is dropped.
struct Mapping {
    address: *mut libc::c_void,
    bytes: usize,
}

impl Mapping {
    fn new(file: &impl AsRawFd, offset: u64, bytes: usize) -> io::Result<Self> {
        let offset = i64::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: a new mapping, at an address that the kernel chooses. Its memory is never read.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Self { address, bytes };
        mapping.advise(0, bytes, libc::MADV_RANDOM)?;
        Ok(mapping)
    }

    fn advise(&self, from: usize, bytes: usize, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: a range of this mapping, which nobody reads.
        let outcome = unsafe { libc::madvise(self.address.byte_add(from), bytes, advice) };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// For each page whether it is resident and has been read.
    fn resident(&self) -> io::Result<Vec<bool>> {
        let mut pages = vec![0_u8; self.bytes.div_ceil(page_size())];
        // SAFETY: room for a byte for each page of this mapping.
        if unsafe { libc::mincore(self.address, self.bytes, pages.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(pages.into_iter().map(|page| page & 1 != 0).collect())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by this type, and not used any more.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

fn page_size() -> usize {
    usize::try_from(page_bytes()).unwrap_or(4096)
}

/// Entries of a table of the kernel's, from that one on.
fn entries(table: &File, first: u64, count: usize) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; count * ENTRY];
    table.read_exact_at(&mut bytes, first * ENTRY as u64)?;
    let entry = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    Ok(bytes.chunks_exact(ENTRY).map(entry).collect())
}

/// What was found in a range.
pub(super) struct Marks {
    /// Bytes of the file with marked pages, whole folios as far as they lie in the range: where, how many.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Resident pages that could be looked at.
    pub(super) looked_at: u64,
}

/// Looks for marks in `length` bytes from `offset`, which begins a page and lies within the file.
///
/// # Errors
/// Where that cannot be told: without CAP_SYS_ADMIN, or of a file that cannot be mapped.
pub(super) fn find(file: &impl AsRawFd, offset: u64, length: u64) -> io::Result<Marks> {
    let (pagemap, flags) = (File::open("/proc/self/pagemap")?, File::open("/proc/kpageflags")?);
    let bytes = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mapping = Mapping::new(file, offset, bytes)?;
    let first_entry = mapping.address.addr() as u64 / page_bytes();
    let mut marks = Marks { ranges: Vec::new(), looked_at: 0 };
    let mut page = 0;
    for run in mapping.resident()?.chunk_by(|a, b| a == b) {
        let start = page;
        page += run.len();
        // What has gone meanwhile is not there.
        if run.first() != Some(&true)
            || mapping.advise(start * page_size(), run.len() * page_size(), libc::MADV_POPULATE_READ).is_err()
        {
            continue;
        }
        let frames = entries(&pagemap, first_entry + start as u64, run.len())?;
        let mut file_page = offset / page_bytes() + start as u64;
        let mut is_marked = false;
        for stretch in
            frames.chunk_by(|a, b| a & PRESENT != 0 && b & PRESENT != 0 && (a & FRAME) + 1 == b & FRAME)
        {
            let Some(frame) =
                stretch.first().filter(|entry| **entry & PRESENT != 0).map(|entry| entry & FRAME)
            else {
                file_page += stretch.len() as u64;
                continue;
            };
            if frame == 0 {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            for flags in entries(&flags, frame, stretch.len())? {
                // Older kernels show the flags of a folio on its first page only.
                is_marked = flags & (RECLAIM | UNWRITTEN) == RECLAIM || (is_marked && flags & TAIL != 0);
                if is_marked {
                    marks.add(file_page * page_bytes());
                }
                file_page += 1;
                marks.looked_at += 1;
            }
        }
    }
    Ok(marks)
}

impl Marks {
    fn add(&mut self, offset: u64) {
        match self.ranges.last_mut() {
            Some((start, length)) if *start + *length == offset => *length += page_bytes(),
            _ => self.ranges.push((offset, page_bytes())),
        }
    }
}
