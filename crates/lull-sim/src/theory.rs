//! What the policy costs and gains, computed instead of simulated. Derived in `docs/theory.md`.
//!
//! Two foregrounds on a server that does one thing at a time, beside background that is always there or thinks in between:
//!
//! - [`Closed`]: one client that thinks between requests; every delay moves all that follows.
//! - [`Open`]: independent arrivals (M/G/1); delays are made up for in idle time, requests queue.
//!
//! Both rest on one question: a gap of length z begins; how many background requests start in it, and how long does the
//! foreground that ends it wait ([`gap`])? Starts lie at `t_0 < t_1 < …`, `t_0` being the end of the interval and the others one
//! stride apart, a service and a pause:
//!
//! ```text
//!   foreground ends                               returns      waits
//!   ├──────P──────┤▇▇▇▇b▇▇▇▇┤··stride - b··┤▇▇▇▇b▇▇│▇▇├─▶ served
//!   0            t_0                      t_1      z  t_1+b
//! ```
//! - `bb-*`, greedy: stride b (the next one starts at once);
//! - `bp-*`, greedy: stride b + P (event b in B leads to P);
//! - one thinking client, `*-bi`: stride b + Y; `*-bp`: b + max(P, Y) (event i in B leads to P).
//!
//! Gaps are taken at the middles of 4,000 equally likely slices, services at their mean (exact for fixed services) or as
//! exponential (closed form: the rest of a service is one again).
//!
//! Units: nanoseconds as figures. Edge cases: P = 0 is plain priority, P = ∞ leaves no starts. An open foreground that
//! asks for all of the server's time or more has no mean delay: `None`.

use lull_core::{AfterBackground, AfterEmpty, Interval, Nanos, Variant};

use crate::span::Span;

/// Slices of the distribution of gaps.
const STEPS: u32 = 4_000;

/// Time per background request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// Always the same.
    Fixed(Nanos),
    /// Exponential, with this mean.
    Exponential(Nanos),
}

impl ServiceTime {
    fn mean_ns(self) -> f64 {
        match self {
            Self::Fixed(span) | Self::Exponential(span) => span.0 as f64,
        }
    }

    fn second_moment(self) -> f64 {
        match self {
            Self::Fixed(span) => (span.0 as f64).powi(2),
            Self::Exponential(span) => 2.0 * (span.0 as f64).powi(2),
        }
    }
}

/// The background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// Time per request.
    pub service: ServiceTime,
    /// `None`: another request always waits. Otherwise one client that thinks so long.
    pub think: Option<Nanos>,
}

/// The policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The preemption interval, from the end of foreground service.
    pub interval: Interval,
    /// Which machine.
    pub variant: Variant,
}

/// What to expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Mean time for which a foreground request waits because of background, in nanoseconds.
    pub delay_ns: f64,
    /// Foreground requests per second.
    pub foreground_per_s: f64,
    /// Foreground throughput relative to that without background.
    pub foreground: f64,
    /// Background requests per second.
    pub background_per_s: f64,
}

/// What is expected in one gap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InGap {
    /// Background requests that start.
    pub starts: f64,
    /// Mean wait of the foreground that ends it, in nanoseconds.
    pub wait_ns: f64,
    /// Mean square of that.
    pub wait_squared: f64,
}

impl Background {
    /// From a start to the end of the service, and on to the next start: what lies between.
    fn pause_ns(&self, rules: &Rules) -> f64 {
        let Interval::Finite(interval) = rules.interval else { return f64::INFINITY };
        let interval = interval.0 as f64;
        match self.think {
            None if rules.variant.on_background == AfterBackground::Background => 0.0,
            None => interval,
            Some(think) if rules.variant.on_empty == AfterEmpty::Idle => think.0 as f64,
            Some(think) => interval.max(think.0 as f64),
        }
    }
}

/// What happens in a gap of exactly `gap_ns`.
///
/// With a fixed service the starts are those before the gap's end, and the wait is what the last one leaves. With an
/// exponential one and no pause, the wait is exponential whenever the interval is over; with a pause the state at the
/// gap's end follows a two-state chain that is busy for b and pauses for the rest on average.
pub fn gap(gap_ns: f64, background: &Background, rules: &Rules) -> InGap {
    let Interval::Finite(interval) = rules.interval else { return InGap::default() };
    let open = gap_ns - interval.0 as f64;
    if open <= 0.0 {
        return InGap::default();
    }
    let (service, pause) = (background.service.mean_ns(), background.pause_ns(rules));
    match background.service {
        ServiceTime::Fixed(_) => {
            let stride = (service + pause).max(1.0);
            let begun = (open / stride).ceil();
            let wait = ((begun - 1.0) * stride + service - open).max(0.0);
            InGap { starts: begun, wait_ns: wait, wait_squared: wait * wait }
        }
        ServiceTime::Exponential(_) => {
            let (starts, busy) = exponential_starts(open, service, pause);
            InGap { starts, wait_ns: busy * service, wait_squared: busy * 2.0 * service * service }
        }
    }
}

/// Mean number of starts within `open` of alternating exponential services and fixed pauses, and the chance that one is
/// in service at its end. After n services and pauses the next start lies at n pauses plus a sum of n services, which has
/// a gamma distribution: starts are the sum of its chances to be early enough, and one is in service if the n-th
/// began and did not end.
fn exponential_starts(open: f64, service: f64, pause: f64) -> (f64, f64) {
    if pause <= 0.0 {
        return (1.0 + open / service, 1.0);
    }
    let (mut starts, mut over) = (0.0, 0.0);
    for n in 0..1_000_u32 {
        let left = open - f64::from(n) * pause;
        if left <= 0.0 {
            break;
        }
        starts += gamma_at_most(n, left / service);
        // Over: the n+1st service has ended by now, whether or not its pause has.
        over += gamma_at_most(n + 1, left / service);
    }
    (starts, (starts - over).clamp(0.0, 1.0))
}

/// The chance that a sum of `n` exponentials of mean 1 is at most `x`.
fn gamma_at_most(n: u32, x: f64) -> f64 {
    let (mut term, mut below) = ((-x).exp(), 0.0);
    for k in 0..n {
        below += term;
        term *= x / f64::from(k + 1);
    }
    (1.0 - below).clamp(0.0, 1.0)
}

/// The gap of rank `share` (0 to 1) of a distribution, in nanoseconds.
fn gap_of_rank(span: &Span, share: f64) -> f64 {
    match *span {
        Span::Fixed(length) => length.0 as f64,
        Span::Between(from, to) => from.0 as f64 + share * to.since(from).0 as f64,
        Span::Exponential(mean) => -(1.0 - share).ln() * mean.0 as f64,
        Span::Pareto { least, tail } => least.0 as f64 * (1.0 - share).powf(-1.0 / tail),
    }
}

/// The mean over gaps of this distribution.
pub fn over_gaps(gaps: &Span, background: &Background, rules: &Rules) -> InGap {
    let mut sum = InGap::default();
    for step in 0..STEPS {
        let share = (f64::from(step) + 0.5) / f64::from(STEPS);
        let one = gap(gap_of_rank(gaps, share), background, rules);
        sum.starts += one.starts;
        sum.wait_ns += one.wait_ns;
        sum.wait_squared += one.wait_squared;
    }
    let n = f64::from(STEPS);
    InGap { starts: sum.starts / n, wait_ns: sum.wait_ns / n, wait_squared: sum.wait_squared / n }
}

/// One foreground client that thinks between requests.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// Its think time.
    pub think: Span,
    /// Mean time per request.
    pub service: Nanos,
}

impl Closed {
    /// What it loses and what background gets done: `E[starts] / E[cycle]`, with cycle = think + wait + service.
    pub fn forecast(&self, background: &Background, rules: &Rules) -> Forecast {
        let in_gap = over_gaps(&self.think, background, rules);
        let alone = self.think.mean_ns() + self.service.0 as f64;
        let cycle = alone + in_gap.wait_ns;
        Forecast {
            delay_ns: in_gap.wait_ns,
            foreground_per_s: 1e9 / cycle,
            foreground: alone / cycle,
            background_per_s: in_gap.starts * 1e9 / cycle,
        }
    }
}

/// Independent foreground arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Mean time between arrivals.
    pub every: Nanos,
    /// Time per request.
    pub service: ServiceTime,
}

impl Open {
    /// M/G/1 in which the first request of a busy period waits W: with U = W,
    /// `E[delay] = (2 E[U] + λ E[U²]) / (2 (1 + λ E[U]))` on top of the plain queue's, and a cycle of idle and busy lasts
    /// `1/λ + (E[U] + E[S]) / (1 - ρ)`. `None` if ρ is 1 or more.
    pub fn forecast(&self, background: &Background, rules: &Rules) -> Option<Forecast> {
        let rate = 1.0 / self.every.0 as f64;
        let load = rate * self.service.mean_ns();
        if load >= 1.0 {
            return None;
        }
        let idle = over_gaps(&Span::Exponential(self.every), background, rules);
        let (first, squared) = (idle.wait_ns, idle.wait_squared);
        let cycle = self.every.0 as f64 + (first + self.service.mean_ns()) / (1.0 - load);
        Some(Forecast {
            delay_ns: (2.0 * first + rate * squared) / (2.0 * (1.0 + rate * first)),
            foreground_per_s: rate * 1e9,
            foreground: 1.0,
            background_per_s: idle.starts * 1e9 / cycle,
        })
    }

    /// Mean wait in the queue without any background (Pollaczek and Khinchine), in nanoseconds.
    pub fn wait_alone_ns(&self) -> Option<f64> {
        let rate = 1.0 / self.every.0 as f64;
        let load = rate * self.service.mean_ns();
        (load < 1.0).then(|| rate * self.service.second_moment() / (2.0 * (1.0 - load)))
    }
}

#[cfg(test)]
mod tests;
