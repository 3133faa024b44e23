//! Processor time of the whole machine, and of one control group.
//!
//! The kernel counts the machine's in `/proc/stat`, in clock ticks (10 ms), summed over CPUs: a period much shorter than a
//! second is coarse. Time stolen by the hypervisor is told apart: it was used by nobody here. A group's time is exact.
//!
//! Source: proc_stat(5); `Documentation/admin-guide/cgroup-v2.rst` on `cpu.stat`, which every group has;
//! `Documentation/admin-guide/cgroup-v1/cpuacct.rst`.

use std::path::Path;

use lull_core::Nanos;

use crate::proc::ticks;

/// Cumulative processor times since the machine started, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTimes {
    /// Spent in tasks, in user mode or in the kernel.
    pub tasks: Nanos,
    /// Spent on interrupts.
    pub interrupts: Nanos,
    /// Taken by the hypervisor for others.
    pub stolen: Nanos,
}

impl MachineTimes {
    /// The times now; none where the kernel does not tell.
    pub fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?, ticks)
    }

    fn parse(stat: &str, time: impl Fn(u64) -> Nanos) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = fields.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        // Guest times, further on, are within user and nice.
        let [user, nice, system, _idle, _iowait, irq, softirq, stolen] = *fields.first_chunk()?;
        Some(Self {
            tasks: time(user + nice + system),
            interrupts: time(irq + softirq),
            stolen: time(stolen),
        })
    }

    /// What was spent since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            tasks: self.tasks.since(earlier.tasks),
            interrupts: self.interrupts.since(earlier.interrupts),
            stolen: self.stolen.since(earlier.stolen),
        }
    }

    /// Spent on anything but idling and waiting for disks.
    pub fn busy(self) -> Nanos {
        self.tasks.plus(self.interrupts)
    }
}

/// The processor time that a control group has used, by processes that are gone, too; none in a hierarchy that does not account it.
pub fn group_time(group: &Path) -> Option<Nanos> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    // Version 1 has a cpu.stat, too, without this line.
    let v2 = || {
        let text = read("cpu.stat")?;
        let used = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        used.trim().parse().ok().map(Nanos::from_micros)
    };
    let v1 = || read("cpuacct.usage")?.trim().parse().ok().map(Nanos);
    v2().or_else(v1)
}

#[cfg(test)]
mod tests;
