//! Opening what a load reads, and buffers that O_DIRECT accepts.
//!
//! Positions are whole blocks within the file; a tail shorter than a block is never read. Regular files and
//! block devices are both measured by seeking to their end, as `stat` gives no size for a device.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Error;
use crate::error::Context;
use crate::units::Bytes;

/// A file and how many whole blocks it has.
#[derive(Debug)]
pub struct BlockFile {
    /// The open file.
    pub file: File,
    /// Bytes per request.
    pub block: Bytes,
    /// Whole blocks in the file; at least 1.
    pub blocks: u64,
}

impl BlockFile {
    /// Opens `path` for reading blocks of `block` bytes, past the page cache if `direct`.
    pub fn open(path: &Path, block: Bytes, direct: bool) -> Result<Self, Error> {
        let unusable = |problem: String| Error::Argument { argument: format!("--block {block}"), problem };
        if block.0 == 0 || (direct && !block.0.is_multiple_of(512)) {
            return Err(unusable("with --direct it must be a multiple of 512 bytes, and never 0".to_owned()));
        }
        let mut options = OpenOptions::new();
        options.read(true);
        if direct {
            options.custom_flags(libc::O_DIRECT);
        }
        let mut file = options.open(path).at("open", path)?;
        let length = file.seek(SeekFrom::End(0)).at("measure", path)?;
        let blocks = length / block.0;
        if blocks == 0 {
            return Err(unusable(format!("{} has only {length} bytes", path.display())));
        }
        Ok(Self { file, block, blocks })
    }

    /// Where block `index` begins.
    pub fn offset(&self, index: u64) -> u64 {
        index * self.block.0
    }
}

/// A page-aligned buffer.
#[derive(Debug)]
pub struct Buffer {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: a Buffer owns its memory like a Vec<u8> does.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `length` zero bytes (at least one), aligned to 4,096.
    pub fn new(length: usize) -> Result<Self, Error> {
        let layout = Layout::from_size_align(length.max(1), 4096)
            .map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))
            .to("make a buffer")?;
        // SAFETY: the layout's size is at least 1.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Ok(Self { start, layout })
    }

    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `start` points to `layout.size()` initialised bytes that only `self` owns.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }

    /// The address, for interfaces that keep it across calls.
    pub fn address(&self) -> u64 {
        self.start.addr() as u64
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and not freed before.
        unsafe { dealloc(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests;
