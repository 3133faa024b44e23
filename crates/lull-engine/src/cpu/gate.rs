//! What confines a job to the CPUs that it is lent.

use std::io;

use lull_linux::gate::lend::{self, Lender};
use lull_linux::topology::cpus::CpuSet;

/// The job's CPUs. Gives all back when dropped.
pub trait CpuGate: Send {
    /// The CPUs that there are to lend.
    fn all(&self) -> &CpuSet;

    /// The CPUs that are lent.
    fn lent(&self) -> &CpuSet;

    /// Lends so many CPUs, those that the foreground uses least: `used` is the share of a CPU that it uses.
    ///
    /// # Errors
    /// When the kernel refuses; the job then keeps what it had.
    fn lend(&mut self, count: usize, used: &dyn Fn(u32) -> f64, margin: f64) -> io::Result<()>;

    /// Gives the job all CPUs until [`Self::narrow`].
    fn widen(&mut self);

    /// Confines the job again to what is lent.
    fn narrow(&mut self);

    /// lull's own threads run on these, too.
    fn follow(&self, cpus: &CpuSet);
}

impl CpuGate for Lender {
    fn all(&self) -> &CpuSet {
        self.all()
    }

    fn lent(&self) -> &CpuSet {
        self.lent()
    }

    fn lend(&mut self, count: usize, used: &dyn Fn(u32) -> f64, margin: f64) -> io::Result<()> {
        self.lend(count, used, margin).map(|_| ())
    }

    fn widen(&mut self) {
        self.widen();
    }

    fn narrow(&mut self) {
        self.narrow();
    }

    fn follow(&self, cpus: &CpuSet) {
        lend::follow(cpus);
    }
}
