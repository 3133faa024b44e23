//! Small questions to `/proc`: which processes and threads there are, and single values of the files that describe them.
//!
//! Problem of `/proc/PID/stat`: its second field, a name that the process chooses, may hold blanks and parentheses, so that
//! fields cannot be counted from the front. Approach: [`StatLine`] counts them from behind the last closing parenthesis, by their
//! numbers in proc_pid_stat(5).
//!
//! Only what is asked for is parsed, so that the answers are fit for every turn of a loop.

use lull_core::Nanos;
use nix::unistd::{SysconfVar, sysconf};

use crate::root::Root;

/// The number of the first field behind the name.
const FIRST: usize = 3;
/// The flag of kernel threads, `include/linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Fields of one process or thread at one moment.
#[derive(Clone, Debug)]
pub struct StatLine {
    fields: Vec<String>,
}

impl StatLine {
    /// `None` if it is no such line.
    pub fn parse(line: &str) -> Option<Self> {
        let fields = line.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
        Some(Self { fields })
    }

    /// That of a process, by its id or `self`; `None` if there is none.
    pub fn read(root: &Root, pid: impl std::fmt::Display) -> Option<Self> {
        Self::parse(&root.read(format!("/proc/{pid}/stat"))?)
    }

    /// That of a process, or of a thread by `PID/task/TID`, of the host itself.
    pub fn of(pid: impl std::fmt::Display) -> Option<Self> {
        Self::read(&Root::real(), pid)
    }

    /// The field of this number, from 3 on.
    pub fn number(&self, field: usize) -> Option<u64> {
        self.fields.get(field.checked_sub(FIRST)?)?.parse().ok()
    }

    /// What the process does, as a letter.
    pub fn state(&self) -> Option<char> {
        self.fields.first()?.chars().next()
    }

    /// Its parent; 0 where that is outside of this PID namespace.
    pub fn parent(&self) -> Option<i32> {
        i32::try_from(self.number(4)?).ok()
    }

    /// Does the kernel run it, and no program?
    pub fn is_kernel_thread(&self) -> bool {
        self.number(9).is_some_and(|flags| flags & PF_KTHREAD != 0)
    }

    /// Does it run, could it run, or does it wait for a disk?
    pub fn wants(&self) -> bool {
        matches!(self.state(), Some('R' | 'D'))
    }

    /// Processor time of its own, in clock ticks.
    pub fn own_ticks(&self) -> Option<u64> {
        Some(self.number(14)? + self.number(15)?)
    }

    /// Processor time of the children that it has waited for, in clock ticks.
    pub fn childrens_ticks(&self) -> Option<u64> {
        Some(self.number(16)? + self.number(17)?)
    }

    /// Faults for which it had to wait for a disk.
    pub fn major_faults(&self) -> Option<u64> {
        self.number(12)
    }

    /// When it started, in clock ticks since boot: with its id a name for it that is not given twice.
    pub fn start_ticks(&self) -> Option<u64> {
        self.number(22)
    }
}

/// Clock ticks as time.
pub fn ticks(ticks: u64) -> Nanos {
    let per_s = sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|ticks| u64::try_from(ticks).ok());
    Nanos(ticks.saturating_mul(1_000_000_000) / per_s.unwrap_or(100).max(1))
}

/// The parent of a process; `None` if there is no such process.
pub fn parent_of(pid: i32) -> Option<i32> {
    StatLine::of(pid)?.parent()
}

/// Every process of the machine.
pub fn all() -> Vec<i32> {
    numbers_in("/proc")
}

/// The threads of a process now.
pub fn threads(pid: i32) -> Vec<i32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn numbers_in(directory: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The process of a thread.
pub fn process_of(tid: u32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    field(&status, "Tgid")?.parse().ok()
}

/// The value of `name:` in a text of `name: value` lines, such as `/proc/PID/status` or `/proc/meminfo`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// A value that such a text tells in `kB`, in bytes.
pub fn bytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests;
