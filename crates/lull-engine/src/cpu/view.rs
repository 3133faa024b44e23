//! What is seen of the CPUs: by observers in the kernel, or by whoever plays them in a test or a simulation.

use lull_bpf::cpu::{CpuTotals, Cpus};
use lull_core::{Histogram, Nanos};

/// The CPUs now and so far. What is cumulative only grows.
pub trait CpuView: Send {
    /// How many CPUs run foreground and background.
    fn running(&self) -> [u32; 2];

    /// The most CPUs that the foreground used at once since the last call.
    fn take_peak(&self) -> u32;

    /// The sums up to `now`.
    fn totals(&self, now: Nanos) -> CpuTotals;

    /// What the foreground's bursts took, while no background ran and while some did.
    fn bursts(&self, now: Nanos) -> [Histogram; 2];

    /// CPU time of the foreground up to `now`, CPU by CPU.
    fn busy_each(&self, now: Nanos) -> Vec<Nanos>;

    /// How often the foreground's waits for I/O ended, CPU by CPU.
    fn io_ended_each(&self) -> Vec<u64>;

    /// Asks for one wake-up when the foreground uses more CPUs than this, `spacing` after the last one at the soonest.
    fn wake_above(&self, most: Option<u32>, spacing: Nanos);

    /// Whether the wake-up that was asked for has come.
    fn has_woken(&self) -> bool;

    /// Says how many CPUs there are.
    fn set_online(&self, cpus: u32);

    /// From now on no burst counts for more than `most` in the sums that are cut.
    fn cut_at(&self, most: Nanos);
}

impl CpuView for Cpus {
    fn running(&self) -> [u32; 2] {
        self.running()
    }

    fn take_peak(&self) -> u32 {
        self.take_peak()
    }

    fn totals(&self, now: Nanos) -> CpuTotals {
        self.totals(now)
    }

    fn bursts(&self, now: Nanos) -> [Histogram; 2] {
        self.report(now).response
    }

    fn busy_each(&self, now: Nanos) -> Vec<Nanos> {
        self.busy_each(now).map(|[foreground, _]| foreground).collect()
    }

    fn io_ended_each(&self) -> Vec<u64> {
        self.io_ended_each().collect()
    }

    fn wake_above(&self, most: Option<u32>, spacing: Nanos) {
        self.wake_above(most, spacing);
    }

    fn has_woken(&self) -> bool {
        self.has_woken()
    }

    fn set_online(&self, cpus: u32) {
        self.set_online(cpus);
    }

    fn cut_at(&self, most: Nanos) {
        self.cut_at(most);
    }
}
