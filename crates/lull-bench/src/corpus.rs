//! What the loads read: data files, trees of files, a source tree to compile; and pages out of the cache.
//!
//! Everything is made once, from a seed, with content that does not compress and without holes, and is reused
//! when its stamp still fits. Making means: write, sync, then write the stamp; an interrupted making is made
//! again.
//!
//! *Cold cache.* `posix_fadvise(DONTNEED)` drops clean pages of the given files only. It may silently not
//! drop all of them, so [`resident`] counts what is left: by cachestat(2) (Linux 6.5), else by mincore(2),
//! which tells the truth about files one may write.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::error::Context;
use crate::units::{Bytes, whole};
use crate::{Error, stop};

/// A file or a tree counts as cold when less than this share of it is cached.
pub const COLD: f64 = 0.01;
const CHUNK: u64 = Bytes::MIB;
const STAMP: &str = "complete";
const FILES_PER_DIRECTORY: usize = 64;
const SYS_CACHESTAT: libc::c_long = 451;

/// Files to be read by jobs.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The directory that holds them all.
    pub root: PathBuf,
    /// Every file and its size.
    pub files: Vec<(PathBuf, Bytes)>,
}

impl Tree {
    /// Sum of the sizes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.files.iter().map(|(_, size)| size.0).sum())
    }
}

/// Sizes of a tree's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// From 4 KiB to 4 MiB, as many in each power of two.
    Mixed,
    /// All the same.
    Equal(Bytes),
}

/// A file of `size` random bytes at `path`; kept if it is there already.
pub fn data_file(path: &Path, size: Bytes, seed: u64) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    if let Ok(found) = path.metadata()
        && found.len() == size.0
        && found.blocks() * 512 >= size.0
    {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).at("create", parent)?;
    }
    write_random(path, size, &mut fastrand::Rng::with_seed(seed)).inspect_err(|_| {
        // Half a file must not look like a whole one next time.
        let _ = fs::remove_file(path);
    })
}

/// Reads a file once from end to end. What is below a virtual disk may cache it; so the first run to read it
/// is served like the others.
pub fn read_through(path: &Path) -> Result<(), Error> {
    let mut file = File::open(path).at("open", path)?;
    std::io::copy(&mut file, &mut std::io::sink()).at("read", path)?;
    Ok(())
}

/// A tree of files with `total` bytes or a little more under `root`; kept if its stamp fits.
pub fn tree(root: &Path, total: Bytes, sizes: Sizes, seed: u64) -> Result<Tree, Error> {
    let plan = plan(root, total, sizes, seed);
    let stamp_path = root.join(STAMP);
    let stamp = format!("{} files, {} bytes, {sizes:?}, seed {seed}\n", plan.files.len(), plan.bytes().0);
    if fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp) {
        return Ok(plan);
    }
    if root.exists() {
        fs::remove_dir_all(root).at("replace", root)?;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    for (path, size) in &plan.files {
        stop::check()?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).at("create", parent)?;
        }
        write_random(path, *size, &mut random)?;
    }
    fs::write(&stamp_path, stamp).at("write", &stamp_path)?;
    Ok(plan)
}

fn plan(root: &Path, total: Bytes, sizes: Sizes, seed: u64) -> Tree {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut files, mut sum) = (Vec::new(), 0);
    while sum < total.0 {
        let size = match sizes {
            Sizes::Mixed => Bytes(whole(4096.0 * (random.f64() * 1024.0_f64.ln()).exp())),
            Sizes::Equal(size) => Bytes(size.0.max(1)),
        };
        let index = files.len();
        files.push((root.join(format!("d{:04}/f{index:06}", index / FILES_PER_DIRECTORY)), size));
        sum += size.0;
    }
    Tree { root: root.to_owned(), files }
}

fn write_random(path: &Path, size: Bytes, random: &mut fastrand::Rng) -> Result<(), Error> {
    let file = File::create(path).at("create", path)?;
    let mut chunk = vec![0; Bytes(CHUNK.min(size.0)).as_usize()];
    let mut left = size.0;
    let mut out = &file;
    while left > 0 {
        stop::check()?;
        random.fill(&mut chunk);
        let length = Bytes(left.min(CHUNK)).as_usize();
        out.write_all(chunk.get(..length).unwrap_or(&chunk)).at("write", path)?;
        left -= length as u64;
    }
    file.sync_data().at("write to the disk", path)?;
    drop_pages(&file).at("drop cached pages of", path)
}

/// Functions per source file, so many that compiling one takes a large part of a second.
pub const FUNCTIONS: u32 = 60;

/// A C program of `units` source files with so many functions each, and a Makefile; `make` builds it, `make
/// clean` undoes that.
pub fn project(root: &Path, units: u32, functions: u32) -> Result<(), Error> {
    fs::create_dir_all(root).at("create", root)?;
    for unit in 0..units {
        let path = root.join(format!("unit{unit}.c"));
        let mut out = BufWriter::new(File::create(&path).at("create", &path)?);
        let mut text = String::from("#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n");
        for function in 0..functions {
            text.push_str(&format!(
                "uint64_t unit{unit}_f{function}(const uint8_t *p, size_t n) {{\n  uint64_t a[32] = {{{function}}}; \n  \
                 for (size_t i = 0; i < n; i++) {{ a[i % 32] ^= (a[(i + {function}) % 32] << 7) + p[i] * {unit}u; \
                 if (a[i % 32] & 1) a[(i * 3) % 32] += i; }}\n  uint64_t s = 0;\n  \
                 for (int i = 0; i < 32; i++) s = s * 31 + a[i];\n  return s;\n}}\n"
            ));
        }
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).at("write", &path)?;
    }
    let mut main = String::from("#include <stdint.h>\n#include <stddef.h>\n");
    for unit in 0..units {
        main.push_str(&format!("uint64_t unit{unit}_f0(const uint8_t *, size_t);\n"));
    }
    main.push_str("int main(void) {\n  uint64_t s = 0;\n  const uint8_t b[4] = {1, 2, 3, 4};\n");
    for unit in 0..units {
        main.push_str(&format!("  s += unit{unit}_f0(b, sizeof b);\n"));
    }
    main.push_str("  return s == 0;\n}\n");
    let makefile = "CFLAGS = -O2\nOBJ = $(patsubst %.c,%.o,$(wildcard *.c))\n\
                    program: $(OBJ)\n\t$(CC) -o $@ $(OBJ)\nclean:\n\trm -f program *.o\n";
    for (name, text) in [("main.c", main.as_str()), ("Makefile", makefile)] {
        let path = root.join(name);
        fs::write(&path, text).at("write", &path)?;
    }
    Ok(())
}

fn drop_pages(file: &File) -> Result<(), Errno> {
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
}

/// Removes a directory with all that is in it. What a job leaves there may change meanwhile, until its last
/// process is gone.
pub fn remove(directory: &Path) -> Result<(), Error> {
    const ATTEMPTS: u32 = 50;
    let mut removed = Ok(());
    for _ in 0..ATTEMPTS {
        removed = match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => return Ok(()),
        };
        thread::sleep(Duration::from_millis(100));
    }
    removed.at("remove", directory)
}

/// Drops the cached pages of one file.
pub fn forget(path: &Path) -> Result<(), Error> {
    let file = File::open(path).at("open", path)?;
    drop_pages(&file).at("drop cached pages of", path)
}

/// Drops the cached pages of every file below `directory`, so that whoever reads it again reads the disk.
pub fn forget_all(directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).at("list", directory)? {
        stop::check()?;
        let entry = entry.at("list", directory)?;
        let kind = entry.file_type().at("list", directory)?;
        if kind.is_dir() {
            forget_all(&entry.path())?;
        } else if kind.is_file() {
            forget(&entry.path())?;
        }
    }
    Ok(())
}

/// How many bytes of the file are in the page cache.
pub fn resident(path: &Path) -> Result<Bytes, Error> {
    let file = File::open(path).at("open", path)?;
    let pages = match cachestat(&file) {
        Err(Errno::ENOSYS) => mincore(&file).at("ask for the cached pages of", path)?,
        result => result.at("ask for the cached pages of", path)?,
    };
    Ok(Bytes(pages * page_bytes()))
}

fn page_bytes() -> u64 {
    // SAFETY: sysconf reads a constant of the system.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

fn cachestat(file: &File) -> Result<u64, Errno> {
    let whole_file = [0_u64; 2];
    // nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted
    let mut counts = [0_u64; 5];
    // SAFETY: the kernel reads two and writes five 64-bit numbers; both arrays live across the call.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), whole_file.as_ptr(), counts.as_mut_ptr(), 0_u32)
    };
    Errno::result(result).map(|_| counts[0])
}

fn mincore(file: &File) -> Result<u64, std::io::Error> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(0);
    }
    // SAFETY: the mapping is only asked about, never read, so changes to the file by others do no harm.
    let map = unsafe { memmap2::Mmap::map(file) }?;
    let mut pages = vec![0_u8; Bytes(length.div_ceil(page_bytes())).as_usize()];
    // SAFETY: `pages` has one byte for each page of the mapping.
    let result = unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), pages.as_mut_ptr()) };
    Errno::result(result)?;
    Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64)
}

/// Makes all files of a tree cold. Returns the share of its bytes that stayed cached.
pub fn chill(tree: &Tree) -> Result<f64, Error> {
    const ATTEMPTS: u32 = 3;
    let mut share = 1.0;
    for _ in 0..ATTEMPTS {
        stop::check()?;
        let mut left = 0;
        for (path, _) in &tree.files {
            forget(path)?;
            left += resident(path)?.0;
        }
        share = left as f64 / tree.bytes().0.max(1) as f64;
        if share < 0.001 {
            break;
        }
    }
    Ok(share)
}

#[cfg(test)]
mod tests;
