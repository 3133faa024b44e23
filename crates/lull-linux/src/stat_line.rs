//! The line that `/proc/PID/stat` is.
//!
//! Problem: the second field, a name that the process chooses, may hold blanks and parentheses, so that fields cannot be
//! counted from the front.
//!
//! Approach: they are counted from behind the last closing parenthesis, by their numbers in proc_pid_stat(5).

use crate::root::Root;

/// The number of the first field behind the name.
const FIRST: usize = 3;

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

    /// Faults for which it had to wait for a disk.
    pub fn major_faults(&self) -> Option<u64> {
        self.number(12)
    }

    /// When it started, in clock ticks since boot: with its id a name for it that is not given twice.
    pub fn start_ticks(&self) -> Option<u64> {
        self.number(22)
    }
}

/// The parent of a process; `None` if there is no such process.
pub fn parent_of(pid: i32) -> Option<i32> {
    StatLine::read(&Root::real(), pid)?.parent()
}

#[cfg(test)]
mod tests;
