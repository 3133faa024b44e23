//! File locks that somebody outside of a job waits for, while the job has them.
//!
//! The kernel lists every lock of flock(2) and fcntl(2), and under it, marked by an arrow, whoever waits for it:
//!
//! ```text
//!   1: FLOCK  ADVISORY  WRITE 1234 fe:00:4711 0 EOF        1234 has it
//!   1: -> FLOCK  ADVISORY  WRITE 5678 fe:00:4711 0 EOF     5678 waits
//! ```
//!
//! The number is that of the process which asked for the lock. A shell that writes `flock 9` lets a child do that, which ends; the lock
//! then belongs to whoever has the file open. Locks of open file descriptions (`F_OFD_SETLK`) name nobody (-1) and count likewise.
//!
//! Edge cases: waits for futexes, pipes and sockets are not listed. A lock taken through another device number than that of the
//! file (btrfs) is told by its holder alone. Source: `fs/locks.c`, proc_locks(5).

use std::os::unix::fs::MetadataExt;

use crate::root::{Root, read_small};
use crate::topology::DevT;

/// Somebody waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    holder: i32,
    waiter: i32,
    dev: DevT,
    inode: u64,
}

/// Whether a process that is not of a job waits for a file lock that the job has. The `job`'s processes are asked for only if somebody waits
/// for any lock: to find them may be dear.
pub fn is_awaited(root: &Root, job: impl FnOnce() -> Vec<i32>) -> bool {
    let Ok(text) = read_small(&root.path("/proc/locks")) else { return false };
    let waits = waits(&text);
    let job = if waits.is_empty() { Vec::new() } else { job() };
    waits.iter().any(|wait| {
        let is_left = || !root.path(format!("/proc/{}", wait.holder)).exists();
        !job.contains(&wait.waiter)
            && (job.contains(&wait.holder) || (is_left() && job.iter().any(|pid| has_open(root, *pid, wait))))
    })
}

fn waits(text: &str) -> Vec<Wait> {
    let mut holder = 0;
    let mut waits = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.as_slice() {
            [_, "->", _, _, _, waiter, file, ..] => {
                if let (Ok(waiter), Some((dev, inode))) = (waiter.parse(), file_of(file)) {
                    waits.push(Wait { holder, waiter, dev, inode });
                }
            }
            [_, _, _, _, first, ..] => holder = first.parse().unwrap_or(0),
            _ => {}
        }
    }
    waits
}

/// `major:minor:inode`, the first two in hexadecimal.
fn file_of(field: &str) -> Option<(DevT, u64)> {
    let mut parts = field.split(':');
    let major = u32::from_str_radix(parts.next()?, 16).ok()?;
    let minor = u32::from_str_radix(parts.next()?, 16).ok()?;
    Some((DevT::new(major, minor), parts.next()?.parse().ok()?))
}

fn has_open(root: &Root, pid: i32, wait: &Wait) -> bool {
    let Ok(entries) = std::fs::read_dir(root.path(format!("/proc/{pid}/fd"))) else { return false };
    let mut files = entries.flatten().filter_map(|entry| std::fs::metadata(entry.path()).ok());
    files.any(|file| file.ino() == wait.inode && DevT::from_stat(file.dev()) == wait.dev)
}

#[cfg(test)]
mod tests;
