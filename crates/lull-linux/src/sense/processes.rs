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
use nix::unistd::{SysconfVar, sysconf};

use crate::stat_line::StatLine;

/// The flag of kernel threads.
pub(super) const PF_KTHREAD: u64 = 0x0020_0000;

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

/// One process's stat line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: i32,
    flags: u64,
    /// Its own.
    ticks: u64,
    /// Of children that it has waited for.
    children: u64,
}

impl Stat {
    fn parse(line: &str) -> Option<Self> {
        let line = StatLine::parse(line)?;
        Some(Self {
            state: line.state()?,
            parent: line.parent()?,
            flags: line.number(9)?,
            ticks: line.number(14)? + line.number(15)?,
            children: line.number(16)? + line.number(17)?,
        })
    }

    fn wants(&self) -> bool {
        matches!(self.state, 'R' | 'D')
    }

    fn of(pid: i32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

/// The process of a thread.
pub fn process_of(tid: u32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The threads of a process now.
pub(crate) fn threads(pid: i32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process's own line tells the state of its first thread, which often waits for the others.
fn a_thread_wants(pid: i32) -> bool {
    let stat = |tid| std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok();
    let lines = threads(pid).into_iter().filter_map(stat);
    lines.filter_map(|line| Stat::parse(&line)).any(|stat| stat.wants())
}

fn io_bytes(text: &str) -> u64 {
    let counted = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        matches!(name, "rchar" | "wchar").then(|| value.trim().parse::<u64>().ok())?
    };
    text.lines().filter_map(counted).sum()
}

/// Clock ticks as time.
pub(super) fn ticks(ticks: u64) -> Nanos {
    let per_s = sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|ticks| u64::try_from(ticks).ok());
    Nanos(ticks.saturating_mul(1_000_000_000) / per_s.unwrap_or(100).max(1))
}

/// What these processes have used; those that are gone count as nothing.
pub fn usage(pids: &[i32]) -> Usage {
    let mut usage = Usage::default();
    let mut ticks = 0;
    for pid in pids {
        let Some(stat) = Stat::of(*pid) else { continue };
        ticks += stat.ticks + stat.children;
        usage.wants = usage.wants || stat.wants() || a_thread_wants(*pid);
        usage.io_bytes +=
            std::fs::read_to_string(format!("/proc/{pid}/io")).map_or(0, |text| io_bytes(&text));
    }
    usage.cpu = self::ticks(ticks);
    usage
}

/// Every process of the machine.
pub fn all() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
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
        let stat = Stat::of(*pid).filter(|stat| stat.flags & PF_KTHREAD == 0 && stat.state != 'Z')?;
        Some(Program { pid: *pid, name: program_name(*pid)?, cpu: ticks(stat.ticks) })
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
    let parents: Vec<(i32, i32)> =
        all().into_iter().filter_map(|pid| Some((pid, Stat::of(pid)?.parent))).collect();
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
    Stat::of(pid).is_some_and(|stat| stat.state == 'T')
}

/// Processor time of those of `pids` that run a program, and of the children that they have waited for.
///
/// Unlike the machine's own count in `/proc/stat`, for which whoever runs at a tick has used the whole of it, this is what they
/// ran: a program that wakes in step with the ticks, as those with timers of whole milliseconds do, is not missed.
pub fn time_of_programs(pids: &[i32]) -> Nanos {
    let stats = pids.iter().filter_map(|pid| Stat::of(*pid));
    ticks(stats.filter(|stat| stat.flags & PF_KTHREAD == 0).map(|stat| stat.ticks + stat.children).sum())
}

#[cfg(test)]
mod tests;
