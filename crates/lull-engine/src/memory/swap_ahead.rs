//! The thread that writes the job's memory to swap in idle disk time, so that it can go at once when the foreground wants it.
//!
//! ```text
//!   free memory, the job's ──▶ Launder ──a piece──▶ its disk's turn ──granted──▶ process_madvise(MADV_PAGEOUT)
//! ```
//! It has the marks of lull's other work: its writes carry the idle class. While there is nothing to write it looks four times a second, and
//! only where swap lies on a disk that lull watches, since nobody else tells when that is idle, and the job has a memory group that tells
//! what of it is clean. It ends with the supervisor; a piece that
//! is being written then is written by the kernel.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lull_core::memory::swap_ahead::{SwapAhead, SwapAheadView};
use lull_core::{Nanos, Ticket};
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::clock;
use lull_linux::gate::swap;
use lull_linux::gate::thresholds::processes::ProcessMemory;
use lull_linux::gate::thresholds::{self, Thresholds};
use lull_linux::root::Root;
use lull_linux::sense::memory::MemorySensor;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::exchange::{Exchange, Verdict};
use super::limit::LimitShown;
use crate::lock::lock;

/// How often it looks while there is nothing to write.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// … and while nothing can be written.
const LOOK_WITHOUT_SWAP: Duration = Duration::from_secs(5);
/// How often the swap areas are looked at.
const SWAPS_EVERY: Nanos = Nanos::from_secs(5);

/// The thread's state.
pub(super) struct SwapAheadThread {
    root: Root,
    sensor: MemorySensor,
    group: MemoryGroup,
    processes: ProcessMemory,
    ahead: SwapAhead,
    exchange: Arc<Exchange>,
    shown: Arc<Mutex<LimitShown>>,
    /// The device of swap, as the kernel writes it, and when that was looked at.
    device: Option<u32>,
    looked: Option<Nanos>,
}

impl SwapAheadThread {
    pub(super) fn new(
        root: Root,
        group: MemoryGroup,
        processes: ProcessMemory,
        exchange: Arc<Exchange>,
        shown: Arc<Mutex<LimitShown>>,
    ) -> Self {
        let sensor = MemorySensor::new(root.clone(), group.limited_ancestors());
        let ahead = SwapAhead::default();
        Self { root, sensor, group, processes, ahead, exchange, shown, device: None, looked: None }
    }

    /// Until the exchange is over.
    pub(super) fn run(mut self) {
        // The piece that waits for its turn.
        let mut asked: Option<(Ticket, u64)> = None;
        while !self.exchange.is_over() {
            if asked.is_none() {
                let now = clock::now();
                asked = self
                    .next(now)
                    .map(|(device, bytes)| (self.exchange.ask_swap_ahead(device, bytes), bytes));
            }
            self.wait();
            for (ticket, verdict) in self.exchange.take_swap_ahead() {
                match (asked.take_if(|(waiting, _)| *waiting == ticket), verdict) {
                    (Some((_, bytes)), Verdict::Granted) => self.write(bytes),
                    // Perhaps swap lies elsewhere when it is looked at next.
                    (Some(_), Verdict::Refused) => self.device = None,
                    (None, _) => {}
                }
            }
        }
    }

    /// What to write next, and where to.
    fn next(&mut self, now: Nanos) -> Option<(u32, u64)> {
        if self.looked.is_none_or(|looked| now.since(looked) >= SWAPS_EVERY) {
            self.looked = Some(now);
            self.device = swap::device(&self.root).map(|device| device.to_kernel());
        }
        let device = self.device?;
        let (scope, stat, usage) = (self.sensor.look()?, self.group.stat()?, self.group.usage()?);
        let [swap_bytes, free_swap_bytes] = thresholds::swap(&self.root);
        let view = SwapAheadView {
            total_bytes: scope.total_bytes,
            free_bytes: scope.free_bytes,
            job_bytes: usage.saturating_sub(stat.file),
            clean_bytes: stat.swap_cached?,
            swap_bytes,
            free_swap_bytes,
            is_short: self.exchange.is_short(now),
        };
        Some((device, self.ahead.step(now, &view)?))
    }

    /// Writes a piece. One that the kernel refuses counts for the pass, which so comes to its end.
    fn write(&mut self, bytes: u64) {
        let written = self.processes.page_out(bytes).unwrap_or(0);
        self.ahead.wrote(bytes);
        lock(&self.shown).laundered_bytes += written;
    }

    fn wait(&self) {
        let nudge = self.exchange.to_swap_ahead();
        let mut wanted = [PollFd::new(nudge.as_fd(), PollFlags::POLLIN)];
        // EINTR only means an early look.
        let every = if self.device.is_some() { LOOK_EVERY } else { LOOK_WITHOUT_SWAP };
        let _ = poll(&mut wanted, PollTimeout::try_from(every).unwrap_or(PollTimeout::ZERO));
        nudge.take();
    }
}
