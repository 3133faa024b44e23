//! Calls that ask for a thread's CPUs, or choose them, while the job may be confined to some.
//!
//! Problem: the kernel would tell of the CPUs that are lent at this moment, by which `nproc` and runtimes choose their number of
//! threads once and for all; and it refuses a choice (EINVAL) that has none of them. Approach: such a call is made in a *window* in
//! which the job has all CPUs. So the kernel itself answers as without lull; it remembers the thread's choice and follows it
//! within what is lent, as far as that goes.
//!
//! ```text
//!            call trapped              widened: its calls are made
//!  watched ──────────────▶ waiting ◀────────────────────────────── window
//!                             └─── PAUSES × the last window's length ──▶
//! ```
//!
//! A window lasts for two writes to the job's cpuset, and the calls that came since the last one are made in it. So the
//! foreground's buffer stays its own, but for a part in [`PAUSES`] + 1 of the time at most.
//!
//! Edge cases: a call that comes while the job has all CPUs waits, too: once let go it may be overtaken by the next confinement. A call
//! that cannot be made in its caller's place goes on as it is ([`affinity::make_for`]). Where nobody listens (`--gate none`), the kernel
//! answers as it is. Who reads `/proc/self/status` instead of asking sees the moment's CPUs.
//!
//! Source: `user_cpus_ptr` in kernel/sched/core.c (Linux 6.2).

use lull_core::Nanos;
use lull_linux::clock;
use lull_linux::seccomp::{Listener, Trap, affinity};

use super::gate::CpuGate;

/// How many times as long as a window nobody has another.
const PAUSES: u64 = 4;

/// See the module.
#[derive(Default)]
pub(crate) struct Affinity {
    waiting: Vec<Trap>,
    /// No window opens before.
    rests_until: Nanos,
}

impl Affinity {
    /// The call waits for a window.
    pub(crate) fn wait(&mut self, trap: &Trap) {
        self.waiting.push(*trap);
    }

    /// Makes the calls that wait, when it is time. Returns those that are answered or have to go on as they are.
    pub(crate) fn turn(&mut self, now: Nanos, gate: &mut dyn CpuGate, listener: &Listener) -> Vec<u64> {
        if self.waiting.is_empty() || now < self.rests_until {
            return Vec::new();
        }
        gate.widen();
        for trap in &self.waiting {
            affinity::make_for(listener, trap);
        }
        gate.narrow();
        let end = clock::now();
        self.rests_until = end.plus(end.since(now).times(PAUSES));
        self.end()
    }

    /// When the next window opens.
    pub(crate) fn next(&self) -> Option<Nanos> {
        (!self.waiting.is_empty()).then_some(self.rests_until)
    }

    /// All calls that wait; none does any more.
    pub(crate) fn end(&mut self) -> Vec<u64> {
        self.waiting.drain(..).map(|trap| trap.id).collect()
    }
}
