//! Opening files by device and inode number, whatever their names are and whether they have any.
//!
//! What the job touched is told by inode. The kernel opens such files by *handle* (open_by_handle_at(2)), a few bytes
//! that each file system fills in its own way. Two ways are common, and a file system shows by the handle of its mounted
//! directory which of them it has:
//!
//! | bytes | content | met on |
//! |---|---|---|
//! | 8 | 32-bit inode number, generation | ext2, ext3, ext4, f2fs and others |
//! | 12 | 64-bit inode number, generation | xfs |
//!
//! The generation tells a file from a later one with the same inode number, so that a file that is gone is never taken
//! for another. Opening needs CAP_DAC_READ_SEARCH, in the first user namespace.
//!
//! Nothing of a file system is held open between two files, or it could not be unmounted while a job runs. Edge cases: a file system that is mounted nowhere in this mount namespace, or has handles of another form, cannot be
//! opened; that is remembered for a while. Files are opened for reading without touching their access times; whoever
//! watches them by inotify or fanotify sees that.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lull_core::Nanos;

use crate::root::Root;
use crate::topology::DevT;
use crate::topology::mounts::MountTable;

/// After this long a file system is looked for anew.
const FORGET: Nanos = Nanos::from_secs(10);
/// Room for the longest handle (`MAX_HANDLE_SZ`).
const HANDLE_BYTES: u16 = 128;

/// One file, of all that there ever were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device of its file system.
    pub dev: DevT,
    /// Inode number.
    pub inode: u64,
    /// Which of the files with this inode number.
    pub generation: u32,
}

impl FileId {
    /// Of an open file.
    ///
    /// # Errors
    /// `Unsupported` where the file system's handles have an unknown form.
    pub fn of(file: &File) -> io::Result<Self> {
        let facts = file.metadata()?;
        let inode = facts.ino();
        let generation = Handle::of(file)?.generation(inode).ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { dev: DevT::from_stat(facts.dev()), inode, generation })
    }
}

/// How a file system writes its handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// 32-bit inode number, generation.
    Short,
    /// 64-bit inode number, generation.
    Long,
}

/// `struct file_handle` with room for any handle.
#[repr(C)]
#[derive(Clone, Copy)]
struct Handle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    data: [u8; HANDLE_BYTES as usize],
}

impl Handle {
    /// Of an open file; of a file system by its mounted directory.
    fn of(directory: &File) -> io::Result<Self> {
        let mut handle = Self { bytes: HANDLE_BYTES.into(), kind: 0, data: [0; HANDLE_BYTES as usize] };
        let mut mount = 0;
        // SAFETY: an empty path with AT_EMPTY_PATH names the descriptor; the record has the room that it says.
        let outcome = unsafe {
            libc::name_to_handle_at(
                directory.as_raw_fd(),
                c"".as_ptr(),
                (&raw mut handle).cast(),
                &raw mut mount,
                libc::AT_EMPTY_PATH,
            )
        };
        if outcome == 0 { Ok(handle) } else { Err(io::Error::last_os_error()) }
    }

    /// The form that this handle has, if it names the file with this inode number in one of the known ones.
    fn form(&self, inode: u64) -> Option<Form> {
        let short = u32::from_ne_bytes(self.data[..4].try_into().ok()?);
        let long = u64::from_ne_bytes(self.data[..8].try_into().ok()?);
        match self.bytes {
            8 if u64::from(short) == inode => Some(Form::Short),
            12 if long == inode => Some(Form::Long),
            _ => None,
        }
    }

    /// The generation of the file with this inode number, if it names that.
    fn generation(&self, inode: u64) -> Option<u32> {
        let at = match self.form(inode)? {
            Form::Short => 4,
            Form::Long => 8,
        };
        Some(u32::from_ne_bytes(self.data.get(at..at + 4)?.try_into().ok()?))
    }

    /// The handle of another file.
    fn naming(mut self, form: Form, file: &FileId) -> Option<Self> {
        let generation = file.generation.to_ne_bytes();
        match form {
            Form::Short => {
                self.data[..4].copy_from_slice(&u32::try_from(file.inode).ok()?.to_ne_bytes());
                self.data[4..8].copy_from_slice(&generation);
            }
            Form::Long => {
                self.data[..8].copy_from_slice(&file.inode.to_ne_bytes());
                self.data[8..12].copy_from_slice(&generation);
            }
        }
        Some(self)
    }
}

/// A mounted file system.
struct FileSystem {
    point: PathBuf,
    dev: DevT,
    pattern: Handle,
    form: Form,
}

impl FileSystem {
    fn at(point: &Path, dev: DevT) -> io::Result<Self> {
        let directory = directory_of(point, dev)?;
        let pattern = Handle::of(&directory)?;
        let form = pattern.form(directory.metadata()?.ino()).ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { point: point.to_owned(), dev, pattern, form })
    }

    fn open(&self, file: &FileId) -> io::Result<File> {
        let directory = directory_of(&self.point, self.dev)?;
        let handle = self.pattern.naming(self.form, file).ok_or(io::ErrorKind::InvalidInput)?;
        let flags = libc::O_RDONLY | libc::O_NOATIME | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_LARGEFILE;
        // SAFETY: an open directory of the file system and a handle with as many bytes as it says.
        let fd = unsafe {
            libc::open_by_handle_at(directory.as_raw_fd(), (&raw const handle).cast_mut().cast(), flags)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: made for us just now.
        Ok(unsafe { File::from_raw_fd(fd) })
    }
}

/// What is mounted there now, if it is that file system.
fn directory_of(point: &Path, dev: DevT) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    let directory = options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NONBLOCK).open(point)?;
    if DevT::from_stat(directory.metadata()?.dev()) == dev {
        Ok(directory)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Opens files by number.
pub struct Inodes {
    root: Root,
    known: HashMap<DevT, (Nanos, Option<FileSystem>)>,
}

impl std::fmt::Debug for Inodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inodes").field("file_systems", &self.known.len()).finish_non_exhaustive()
    }
}

impl Inodes {
    /// Nothing is looked for yet.
    pub fn new(root: Root) -> Self {
        Self { root, known: HashMap::new() }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `ESTALE` when the file is gone, `Unsupported` when its file system cannot be opened by handle, `EPERM` without
    /// CAP_DAC_READ_SEARCH.
    pub fn open(&mut self, now: Nanos, file: &FileId) -> io::Result<File> {
        let stale = |(since, _): &(Nanos, Option<FileSystem>)| now.since(*since) >= FORGET;
        if self.known.get(&file.dev).is_none_or(stale) {
            let found = self.find(file.dev);
            self.known.insert(file.dev, (now, found));
        }
        match self.known.get(&file.dev) {
            Some((_, Some(system))) => {
                let found = system.open(file);
                if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                    // It may be mounted somewhere else by now.
                    self.known.remove(&file.dev);
                }
                found
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn find(&self, dev: DevT) -> Option<FileSystem> {
        let table = MountTable::parse(&self.root.read("/proc/self/mountinfo")?);
        // Of several mounts some may be of single files, or hidden below others.
        let mut points =
            table.iter().filter(|mount| mount.dev == dev).map(|mount| self.root.path(&mount.point));
        points.find_map(|point| FileSystem::at(&point, dev).ok())
    }
}

#[cfg(test)]
mod tests;
