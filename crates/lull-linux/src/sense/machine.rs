//! Processor time of the whole machine, and of one control group.
//!
//! The kernel counts the machine's in `/proc/stat`, in clock ticks (10 ms), summed over CPUs: a period much shorter than a
//! second is coarse. Time stolen by the hypervisor is told apart: it was used by nobody here. A group's time is exact.
//!
//! Source: proc_stat(5); `Documentation/admin-guide/cgroup-v2.rst` on `cpu.stat`, which every group has;
//! `Documentation/admin-guide/cgroup-v1/cpuacct.rst`.

use std::path::Path;

use lull_core::Nanos;
use nix::unistd::{SysconfVar, sysconf};

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
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten();
        let ticks_per_s = ticks.and_then(|ticks| u64::try_from(ticks).ok()).unwrap_or(100);
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?, ticks_per_s)
    }

    fn parse(stat: &str, ticks_per_s: u64) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = fields.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        // Guest times, further on, are within user and nice.
        let [user, nice, system, _idle, _iowait, irq, softirq, stolen] = *fields.first_chunk()?;
        let nanos = |ticks: u64| Nanos(ticks.saturating_mul(1_000_000_000) / ticks_per_s.max(1));
        Some(Self {
            tasks: nanos(user + nice + system),
            interrupts: nanos(irq + softirq),
            stolen: nanos(stolen),
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
