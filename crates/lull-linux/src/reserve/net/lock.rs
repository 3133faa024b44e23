//! Who has arranged an interface, and what to put back: a locked file that says it after a crash, too.
//!
//! The lock goes with its owner, whatever kills that; the file stays and holds those knobs of the interface that were turned.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::net::if_::if_indextoname;

use super::knobs::Knobs;
use crate::gate::qdisc::{LOCKS, own_namespace};

/// How often a lock is tried that may be a dead owner's, and with what pause.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(5);

/// Says that the owner of an arrangement lives.
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// That of the interface with this index; `None` while another has it.
    pub(super) fn of(index: u32) -> io::Result<Option<Self>> {
        Self::take(&Path::new(LOCKS).join(format!("{}{index}", prefix())))
    }

    fn take(path: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(LOCKS)?;
        let file = File::options().create(true).read(true).append(true).open(path)?;
        // SAFETY: plain integers; the descriptor is open.
        let outcome = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        // Whoever had it may have removed it meanwhile.
        let is_current = file.metadata()?.ino() == fs::metadata(path).map_or(0, |found| found.ino());
        Ok((outcome == 0 && is_current).then(|| Self { path: path.to_owned(), file }))
    }

    /// Writes down what the interface had.
    pub(super) fn remember(&self, had: Knobs) -> io::Result<()> {
        self.file.set_len(0)?;
        (&self.file).write_all(had.text().as_bytes())
    }

    /// What was written down.
    fn remembered(&self) -> Knobs {
        let mut text = String::new();
        let mut file = &self.file;
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        read.map_or_else(|_| Knobs::default(), |_| Knobs::parse(&text))
    }

    /// All is as it was.
    pub(super) fn unname(&self) {
        let _ = fs::remove_file(&self.path);
        // Others may have theirs in it.
        let _ = fs::remove_dir(LOCKS);
    }
}

fn prefix() -> String {
    format!("reserve-{}-", own_namespace())
}

/// Puts back what killed mounts left on interfaces of this network namespace.
pub(in crate::reserve) fn sweep() {
    let prefix = prefix();
    for entry in fs::read_dir(LOCKS).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let index = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.parse().ok());
        let Some(index) = index else { continue };
        let Some(lock) = take_soon(&entry.path()) else { continue };
        if let Ok(name) = if_indextoname(index) {
            put_back(&name.to_string_lossy(), &lock);
        }
        lock.unname();
    }
}

/// A child of the owner that was about to become `tc` has the lock for a moment longer.
fn take_soon(path: &Path) -> Option<Lock> {
    (0..TRIES).find_map(|attempt| {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        Lock::take(path).ok().flatten()
    })
}

/// Deletes the arrangement, if it is this one, and tells the interface what it was told before.
pub(super) fn put_back(interface: &str, lock: &Lock) {
    super::delete(interface);
    lock.remembered().put_back(interface);
}
