//! Processor time of the whole machine, and what of it belongs to nobody in the experiment.
//!
//! The kernel counts in `/proc/stat`, in clock ticks (10 ms), summed over CPUs: a period much shorter than a second is
//! coarse. Time stolen by the hypervisor is told apart: it was used by nobody here.

use lull_core::Nanos;
use nix::unistd::{SysconfVar, sysconf};

/// Cumulative processor times since the machine started, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTimes {
    /// Spent on anything but idling and waiting for disks.
    pub busy: Nanos,
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
        Some(Self { busy: nanos(user + nice + system + irq + softirq), stolen: nanos(stolen) })
    }

    /// What was spent since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { busy: self.busy.since(earlier.busy), stolen: self.stolen.since(earlier.stolen) }
    }
}

#[cfg(test)]
mod tests;
