//! A controller that gives the background the CPUs' idle share less a headroom, as operators of large fleets
//! do.
//!
//! ```text
//!  every period (5 s):  foreground = CPU time of everything − CPU time of the group, in CPUs
//!                       quota      = CPUs × (1 − headroom) − foreground, at least the floor
//! ```
//! This is the policy of Meta's *sideloader*: side work runs under `cpu.max`, and the maximum follows the
//! load of the main work with seconds of delay, with a headroom that shall cover what happens within those
//! seconds. It bounds how much the background runs, not when: a request that arrives while the quota is being
//! used finds the CPU or the memory bus taken. Before the first period has passed nothing is known, and the
//! quota is that of an idle machine.
//!
//! CPU time of everything is that of the [machine](lull_linux::sense::machine), coarse in periods much
//! shorter than a second. Time stolen by the hypervisor counts as foreground: it is not there to be given
//! away.

use std::time::Duration;

use lull_core::Nanos;
use lull_linux::sense::machine::MachineTimes;

use super::quota::Quota;
use super::ticker::Ticker;
use crate::{Error, clock};

/// What the controller keeps to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// CPUs of the machine.
    pub cpus: f64,
    /// Share of all CPUs that is left free, from 0 to 1.
    pub headroom: f64,
    /// CPUs that the background always gets.
    pub floor: f64,
    /// Time between two adaptations.
    pub period: Nanos,
}

/// Cumulative processor times at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// When.
    pub at: Nanos,
    /// Of everything, over all CPUs.
    pub all: Nanos,
    /// Of the background.
    pub background: Nanos,
}

impl Policy {
    /// The quota in CPUs while nothing is known of the foreground.
    pub fn first(&self) -> f64 {
        self.quota_beside(0.0)
    }

    /// The quota in CPUs after a period with these usages at its ends.
    pub fn quota(&self, before: Usage, after: Usage) -> f64 {
        let seconds = after.at.since(before.at).as_secs_f64();
        if seconds <= 0.0 {
            return self.first();
        }
        let all = after.all.since(before.all).as_secs_f64();
        let background = after.background.since(before.background).as_secs_f64();
        self.quota_beside((all - background).max(0.0) / seconds)
    }

    fn quota_beside(&self, foreground_cpus: f64) -> f64 {
        (self.cpus * (1.0 - self.headroom) - foreground_cpus).clamp(self.floor, self.cpus)
    }
}

fn look(quota: &Quota) -> Option<Usage> {
    let at = clock::now();
    let machine = MachineTimes::now()?;
    Some(Usage { at, all: machine.busy().plus(machine.stolen), background: quota.used() })
}

/// Sets the first quota of a group and adapts it until the ticker is dropped.
///
/// # Errors
/// When the quota cannot be set.
pub fn adapt(quota: Quota, policy: Policy) -> Result<Ticker, Error> {
    quota.set(policy.first())?;
    let mut before = look(&quota);
    let tick = move || {
        let after = look(&quota);
        let both = before.zip(after);
        before = after;
        both.map_or(Ok(()), |(before, after)| quota.set(policy.quota(before, after)))
    };
    Ok(Ticker::every(Duration::from_nanos(policy.period.as_nanos()), tick, || ()))
}

#[cfg(test)]
mod tests;
