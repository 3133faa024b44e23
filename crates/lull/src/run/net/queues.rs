//! Interfaces whose queue is arranged in two classes while the job runs (`--qdisc`), and what is told of that.

use std::os::fd::RawFd;
use std::sync::Arc;

use lull_linux::gate::qdisc::{self, QdiscPlan, TwoClasses, rate_text};
use lull_linux::probe::net::interfaces;
use lull_linux::root::Root;
use serde::{Deserialize, Serialize};

/// In use by the front, the supervisor and the guardians.
pub(crate) type Queues = Arc<Vec<TwoClasses>>;

/// Arranges all of them or none.
pub(crate) fn arrange(plans: &[QdiscPlan]) -> anyhow::Result<Queues> {
    qdisc::sweep();
    let mut queues = Vec::new();
    for plan in plans {
        match TwoClasses::put_on(plan) {
            Ok(queue) => queues.push(queue),
            Err(error) => {
                release(&queues);
                return Err(error.into());
            }
        }
    }
    Ok(Arc::new(queues))
}

/// Gives all back that no other run uses.
pub(crate) fn release(queues: &[TwoClasses]) {
    for queue in queues {
        queue.release();
    }
}

/// Descriptors that whoever uses them has to keep.
pub(crate) fn locks(queues: &[TwoClasses]) -> impl Iterator<Item = RawFd> + '_ {
    queues.iter().map(TwoClasses::lock_fd)
}

/// What a person may not expect of them.
pub(crate) fn remarks(queues: &[TwoClasses]) -> Vec<String> {
    let is_loopback =
        |name: &str| interfaces(&Root::real()).iter().any(|one| one.loopback && one.name == name);
    let limited = queues.iter().filter(|queue| is_loopback(queue.interface()));
    let told = limited.filter_map(|queue| {
        let (name, rate) = (queue.interface(), rate_text(queue.rate_kbit()?));
        Some(format!("--qdisc: {name} is loopback: what programs of this host send each other is limited to {rate} while the job runs"))
    });
    told.collect()
}

/// What has become of an arrangement when the run tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fate {
    /// The interface has the queue again that the kernel chooses.
    #[default]
    Removed,
    /// Another run uses it.
    Shared,
    /// Processes that the job has left run on.
    StillUsed,
}

/// One arrangement's part of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueueSummary {
    pub(crate) interface: String,
    /// Kilobits per second; none: what the driver takes.
    pub(crate) rate_kbit: Option<u64>,
    pub(crate) fate: Fate,
}

impl QueueSummary {
    /// Gives all back, unless the job has left processes.
    pub(crate) fn at_end(queues: &[TwoClasses], job_is_gone: bool) -> Vec<Self> {
        let fate = |queue: &TwoClasses| match job_is_gone.then(|| queue.release()) {
            Some(true) => Fate::Removed,
            Some(false) => Fate::Shared,
            None => Fate::StillUsed,
        };
        let told = queues.iter().map(|queue| Self {
            interface: queue.interface().to_owned(),
            rate_kbit: queue.rate_kbit(),
            fate: fate(queue),
        });
        told.collect()
    }

    /// A line for a person.
    pub(crate) fn text(&self) -> String {
        let rate = self.rate_kbit.map(|rate| format!(" at {}", rate_text(rate))).unwrap_or_default();
        let fate = match self.fate {
            Fate::Removed => "removed",
            Fate::Shared => "left to another run",
            Fate::StillUsed => "there until the last process of the job ends",
        };
        format!("lull: {}: queue with two classes{rate}, {fate}\n", self.interface)
    }
}

#[cfg(test)]
mod tests;
