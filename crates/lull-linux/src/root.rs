//! The directory under which `/proc`, `/sys` and `/dev` are looked for.
//!
//! Problem: almost all knowledge about a Linux host comes from small text files at fixed places, and most hosts
//! that lull must understand (pure cgroup v2, multi-device btrfs, md arrays) are not the one that runs the tests.
//! Approach: every reader takes a [`Root`]; it is `/` in life and a temporary directory with a made-up tree in tests.
//!
//! Edge cases: a file that is missing, unreadable or not UTF-8 reads as `None`: on another kernel it simply is not
//! there, and "unknown" is a fact too. Whoever must tell *why* reads with [`Root::try_read`].

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What most of the kernel's small files fit into.
const SMALL_BYTES: usize = 4096;

/// The content of one of the kernel's small files, in two calls: it tells no size, so that the standard library would begin with a few bytes
/// and double them.
pub(crate) fn read_small(path: &Path) -> io::Result<String> {
    let mut text = String::with_capacity(SMALL_BYTES);
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Where `/` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self::real()
    }
}

impl Root {
    /// The host's own `/`.
    pub fn real() -> Self {
        Self(PathBuf::from("/"))
    }

    /// Another directory, holding `proc`, `sys` and so on.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Is this the host's own `/`, so that system calls and files speak of the same machine?
    pub fn is_real(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Where the absolute path `path` is under this root.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The content of a file without surrounding white space, or why there is none.
    pub fn try_read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        read_small(&self.path(path)).map(|text| text.trim().to_owned())
    }

    /// The content of a file without surrounding white space; `None` if it can't be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        self.try_read(path).ok()
    }

    /// The number that a file holds; `None` if it can't be read or is no number.
    pub fn number<T: std::str::FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// Does the file exist?
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// The names in a directory, sorted; empty if it can't be read.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}
