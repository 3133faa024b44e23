//! What processes have used so far, whatever program they run: processor time and bytes, and whether they want more.
//!
//! `/proc/PID/stat` counts a process's own processor time and that of the children it has waited for, in clock ticks (10
//! ms); `/proc/PID/io` counts the bytes that its calls read and wrote, files, pipes and sockets alike, and takes over
//! those of children that are waited for. So the sum over the living members of a family keeps what its dead did, as long as their
//! parents live and wait. Where one does not, the sum steps back once; who takes differences counts that as nothing.
//!
//! Edge cases: bytes of a process of another user are not told without the right to trace it, and count as none. Pages that come in
//! through a mapping are in neither count. A kernel thread is known by a flag in its stat line.
//!
//! Source: proc_pid_stat(5), proc_pid_io(5); `include/linux/sched.h` (`PF_KTHREAD`).

use lull_core::Nanos;

use crate::proc::{StatLine, all, parent_of, threads, ticks};

/// What a set of processes has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, children that were waited for included.
    pub cpu: Nanos,
    /// Bytes read and written by calls.
    pub io_bytes: u64,
    /// Whether one of them runs, could run, or waits for a disk.
    pub wants: bool,
}

/// A process's own line tells the state of its first thread, which often waits for the others.
fn a_thread_wants(pid: i32) -> bool {
    let lines = threads(pid).into_iter().filter_map(|tid| StatLine::of(format!("{pid}/task/{tid}")));
    lines.into_iter().any(|line| line.wants())
}

fn io_bytes(text: &str) -> u64 {
    let counted = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        matches!(name, "rchar" | "wchar").then(|| value.trim().parse::<u64>().ok())?
    };
    text.lines().filter_map(counted).sum()
}

/// What these processes have used; those that are gone count as nothing.
pub fn usage(pids: &[i32]) -> Usage {
    let mut usage = Usage::default();
    let mut used = 0;
    for pid in pids {
        let Some(stat) = StatLine::of(pid) else { continue };
        used += stat.own_ticks().unwrap_or(0) + stat.childrens_ticks().unwrap_or(0);
        usage.wants = usage.wants || stat.wants() || a_thread_wants(*pid);
        usage.io_bytes +=
            std::fs::read_to_string(format!("/proc/{pid}/io")).map_or(0, |text| io_bytes(&text));
    }
    usage.cpu = ticks(used);
    usage
}

/// A process that runs a program: not a kernel thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its id.
    pub pid: i32,
    /// The path of its program and the file behind it, which another version does not share; its name where the path may not be read.
    pub name: String,
    /// Processor time of its own.
    pub cpu: Nanos,
}

/// Those of `pids` that run a program.
pub fn programs(pids: &[i32]) -> Vec<Program> {
    let program = |pid: &i32| {
        let stat = StatLine::of(pid).filter(|stat| !stat.is_kernel_thread() && stat.state() != Some('Z'))?;
        Some(Program { pid: *pid, name: program_name(*pid)?, cpu: ticks(stat.own_ticks()?) })
    };
    pids.iter().filter_map(program).collect()
}

/// `PATH#INODE`. The kernel marks the path of a program whose file was replaced; the inode says so by itself.
fn program_name(pid: i32) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let link = format!("/proc/{pid}/exe");
    match (std::fs::read_link(&link), std::fs::metadata(&link)) {
        (Ok(path), Ok(file)) => {
            let path = path.to_string_lossy();
            Some(format!("{}#{}", path.strip_suffix(" (deleted)").unwrap_or(&path), file.ino()))
        }
        _ => Some(std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned()),
    }
}

/// `root` and all that descend from it.
pub fn family(root: i32) -> Vec<i32> {
    let parents: Vec<(i32, i32)> = all().into_iter().filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        next += 1;
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
    }
    family
}

/// Whether a signal has stopped the process.
pub fn is_stopped(pid: i32) -> bool {
    StatLine::of(pid).is_some_and(|stat| stat.state() == Some('T'))
}

/// Processor time of those of `pids` that run a program, and of the children that they have waited for.
///
/// Unlike the machine's own count in `/proc/stat`, for which whoever runs at a tick has used the whole of it, this is what they
/// ran: a program that wakes in step with the ticks, as those with timers of whole milliseconds do, is not missed.
pub fn time_of_programs(pids: &[i32]) -> Nanos {
    let programs = pids.iter().filter_map(StatLine::of).filter(|stat| !stat.is_kernel_thread());
    ticks(programs.filter_map(|stat| Some(stat.own_ticks()? + stat.childrens_ticks()?)).sum())
}

#[cfg(test)]
mod tests;
