//! Switching a disk's I/O scheduler for a while.
//!
//! `/sys/block/DISK/queue/scheduler` lists the schedulers with the current one in brackets: `none
//! [mq-deadline] bfq`. The former one comes back when the [`SchedulerGuard`] is dropped: at the end of the
//! run, on an error, on a panic, and on SIGINT, SIGTERM and SIGHUP, which the harness turns into errors (see
//! [`stop`](lull_linux::stop)). After SIGKILL a [`Restorer`] puts it back.

use std::fs;
use std::path::{Path, PathBuf};

use super::restorer::Restorer;
use crate::Error;
use crate::error::Context;

/// Where the kernel lists disks.
pub const SYS_BLOCK: &str = "/sys/block";

/// Puts the former scheduler back when dropped.
#[derive(Debug)]
pub struct SchedulerGuard {
    file: PathBuf,
    former: String,
    _keeper: Restorer,
}

/// The file that names and sets `disk`'s scheduler.
fn file(sys_block: &Path, disk: &str) -> PathBuf {
    sys_block.join(disk).join("queue/scheduler")
}

/// The current scheduler and all that can be selected.
fn parse(text: &str) -> (Option<&str>, Vec<&str>) {
    let names: Vec<&str> = text.split_whitespace().collect();
    let current = names.iter().find_map(|name| name.strip_prefix('[')?.strip_suffix(']'));
    (current, names.into_iter().map(|name| name.trim_matches(['[', ']'])).collect())
}

/// The scheduler of `disk` now; none if the kernel does not say.
pub fn current(sys_block: &Path, disk: &str) -> Option<String> {
    let text = fs::read_to_string(file(sys_block, disk)).ok()?;
    parse(&text).0.map(str::to_owned)
}

/// Why `wanted` cannot be selected for `disk`; none if it can.
pub fn obstacle(sys_block: &Path, disk: &str, wanted: &str) -> Option<String> {
    let file = file(sys_block, disk);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return Some(format!("{}: {error}", file.display())),
    };
    let (current, names) = parse(&text);
    if !names.contains(&wanted) {
        let list = names.join(", ");
        return Some(format!("{disk} has no scheduler '{wanted}' (it has {list}); try 'modprobe {wanted}'"));
    }
    let writable = nix::unistd::access(&file, nix::unistd::AccessFlags::W_OK).is_ok();
    (current != Some(wanted) && !writable).then(|| format!("{}: not writable; run as root", file.display()))
}

impl SchedulerGuard {
    /// Selects `wanted` for `disk` until the guard is dropped.
    pub fn select(sys_block: &Path, disk: &str, wanted: &str) -> Result<Self, Error> {
        let file = file(sys_block, disk);
        let text = fs::read_to_string(&file).at("read", &file)?;
        let Some(former) = parse(&text).0.map(str::to_owned) else {
            return Err(Error::Unmet {
                what: format!("a current scheduler of {disk}"),
                detail: format!("{} holds '{}'", file.display(), text.trim()),
            });
        };
        let restorer = Restorer::of_file(&file, &former)?;
        fs::write(&file, wanted).at("select the scheduler in", &file)?;
        Ok(Self { file, former, _keeper: restorer })
    }

    /// What was done, as one would type it.
    pub fn typed(&self, wanted: &str) -> String {
        format!("echo {wanted} > {}", self.file.display())
    }

    /// The scheduler that comes back.
    pub fn former(&self) -> &str {
        &self.former
    }
}

impl Drop for SchedulerGuard {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.file, &self.former) {
            eprintln!("lull bench: {}: cannot put '{}' back: {error}", self.file.display(), self.former);
        }
    }
}

#[cfg(test)]
mod tests;
