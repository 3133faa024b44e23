//! A loop device of the test's own.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;

pub(crate) const BLOCK: usize = 4096;
pub(crate) const BLOCKS: u64 = 256;

/// A loop device over a temporary file; detached when dropped.
pub(crate) struct Loop {
    pub(crate) path: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    pub(crate) fn new() -> Option<Self> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; BLOCK * usize::try_from(BLOCKS).unwrap()]).unwrap();
        Self::over(file)
    }

    pub(crate) fn over(file: tempfile::NamedTempFile) -> Option<Self> {
        let out = Command::new("losetup").args(["--find", "--show"]).arg(file.path()).output().ok()?;
        if !out.status.success() {
            eprintln!("SKIPPED: no loop device: {}", String::from_utf8_lossy(&out.stderr));
            return None;
        }
        Some(Self { path: String::from_utf8(out.stdout).unwrap().trim().to_owned(), _file: file })
    }

    /// Reads `count` blocks past the page cache, in the calling thread's I/O class.
    pub(crate) fn read(&self, count: u64) {
        let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(&self.path).unwrap();
        let mut space = vec![0_u8; 2 * BLOCK];
        let skip = space.as_ptr().align_offset(BLOCK);
        for block in 0..count {
            file.read_exact_at(&mut space[skip..skip + BLOCK], block * BLOCK as u64).unwrap();
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}
