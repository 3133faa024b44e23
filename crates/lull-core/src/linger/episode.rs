//! Whether a node's owner is at work, since when, and what a guest has been offered meanwhile.
//!
//! Problem: the rule of [`linger`](super) asks for the age of the owner's episode and for the share that a guest gets in it. A node only
//! shows how much of its CPUs the owner uses, and when somebody last touched its console.
//!
//! Approach: a *sign* of the owner is a span in which he used at least `busy` CPUs, or a touch of the console. He is at work from the
//! first sign until `away_after` has passed without one, so that a pause to think is no departure. An episode begins with the span
//! that brought its first sign; being away begins with the moment at which that is noticed.
//!
//! Units: times are [`Nanos`] on one clock, shares are from 0 to 1 of a CPU.

use crate::base::time::Nanos;

/// When an owner counts as at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnerSetting {
    /// CPUs that only a person at work uses; a machine that rests uses fewer.
    pub busy: f64,
    /// How long nothing has to be seen of him before he counts as away.
    pub away_after: Nanos,
}

impl Default for OwnerSetting {
    /// A twentieth of a CPU, and a quarter of an hour as in HTCondor's own policy for desktops.
    fn default() -> Self {
        Self { busy: 0.05, away_after: Nanos::from_secs(900) }
    }
}

/// What a node showed during a span that ends now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The span.
    pub span: Nanos,
    /// CPUs that its owner used.
    pub owner_cpus: f64,
    /// How long ago the console was touched, where there is one.
    pub console_idle: Option<Nanos>,
    /// What a guest got, or would have got, of a CPU: 0 to 1.
    pub share: f64,
}

/// The owner's time at work, or away, up to now.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    setting: OwnerSetting,
    in_use: bool,
    since: Nanos,
    last_sign: Option<Nanos>,
    offered: f64,
    offered_span: Nanos,
    latest_share: f64,
}

impl Episode {
    /// Nobody has been seen yet.
    pub fn new(setting: OwnerSetting, now: Nanos) -> Self {
        Self {
            setting,
            in_use: false,
            since: now,
            last_sign: None,
            offered: 0.0,
            offered_span: Nanos::ZERO,
            latest_share: 1.0,
        }
    }

    /// Takes what was seen up to `now`.
    pub fn add(&mut self, now: Nanos, sample: &Sample) {
        let touched = sample.console_idle.map(|idle| Nanos(now.0.saturating_sub(idle.0)));
        let busy = (sample.owner_cpus >= self.setting.busy).then_some(now);
        self.last_sign = self.last_sign.max(touched).max(busy);
        let in_use = self.last_sign.is_some_and(|sign| now.since(sign) < self.setting.away_after);
        if in_use != self.in_use {
            self.in_use = in_use;
            self.since = if in_use { Nanos(now.0.saturating_sub(sample.span.0)) } else { now };
            (self.offered, self.offered_span) = (0.0, Nanos::ZERO);
        }
        self.latest_share = sample.share;
        self.offered += sample.share * sample.span.as_secs_f64();
        self.offered_span = self.offered_span.plus(sample.span);
    }

    /// Measures the share from now on only: the guests among which the CPUs are shared are others.
    pub const fn forget_share(&mut self) {
        (self.offered, self.offered_span) = (0.0, Nanos::ZERO);
    }

    /// Whether he is at work.
    pub const fn in_use(&self) -> bool {
        self.in_use
    }

    /// Since when he is, or is not.
    pub const fn since(&self) -> Nanos {
        self.since
    }

    /// What a guest was offered of a CPU since then, or since the share was last forgotten.
    pub fn share(&self) -> f64 {
        let span_s = self.offered_span.as_secs_f64();
        if span_s > 0.0 { self.offered / span_s } else { self.latest_share }
    }
}

#[cfg(test)]
mod tests;
