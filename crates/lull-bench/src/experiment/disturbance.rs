//! What others had of the machine while a trial ran: other processes, the kernel's threads, the harness, and
//! the hypervisor.
//!
//! It is what the machine has used less what foreground and background have, so it is only known where both
//! are.

use lull_core::Nanos;
use lull_linux::sense::machine::MachineTimes;

use crate::clock;
use crate::record::Disturbance;
use crate::stats::ratio;

/// The machine before a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    from: Nanos,
    before: Option<MachineTimes>,
}

/// What a trial took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// Of the machine.
    pub(crate) times: MachineTimes,
    /// From the first to the last.
    pub(crate) elapsed: Nanos,
}

impl Around {
    /// From now on.
    pub(crate) fn begin() -> Self {
        Self { from: clock::now(), before: MachineTimes::now() }
    }

    /// Until now; none where the kernel does not tell.
    pub(crate) fn end(self) -> Option<Spent> {
        let times = MachineTimes::now()?.since(self.before?);
        Some(Spent { times, elapsed: clock::now().since(self.from) })
    }
}

impl Spent {
    /// What is left beside so many seconds of processor time of the foreground and of the background; none:
    /// not known.
    pub(crate) fn beside(self, foreground_s: Option<f64>, background_s: Option<f64>) -> Option<Disturbance> {
        let busy_s = self.times.busy().as_secs_f64();
        let others = foreground_s.zip(background_s).map(|(front, back)| busy_s - front - back);
        let seconds = self.elapsed.as_secs_f64();
        Some(Disturbance {
            others_cpus: others.and_then(|others| ratio(others.max(0.0), seconds)),
            stolen_cpus: ratio(self.times.stolen.as_secs_f64(), seconds)?,
        })
    }
}
