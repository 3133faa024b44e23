//! How long into each gap background may start, when the foreground returns at its usual time.
//!
//! Problem: a foreground with regular gaps returns just when the background request that was started last is in the
//! device. An interval only moves that request; a bound on the gap's late part avoids it.
//!
//! Approach: background runs in *rounds*: a request at each place under the bound, then the next ones when they end.
//! `k` rounds of a period `p` (the mean service, plus [`LATENESS`]) are over at an age of `(k − 1)·p` + one service
//! time + lateness; the requests that return earlier meet them. Of all `k` whose loss is within what is free, take
//! the one with the most starts per gap, and close the gap in the middle between the decision for the last round
//! and that for the next one:
//!
//! ```text
//!    0            p            2p           3p
//!  ──┼────────────┼────────────┼──────┬─────┼──────────────┬────────▶ age of the gap
//!    ▇▇ round 1 ▇▇▇▇ round 2 ▇▇▇▇ round 3 ▇▇▇              │
//!                                     └ from: p/2 later    └ the foreground returns
//! ```
//!
//! A gap that has become older than 99.5% of the past ones is that of a foreground that has gone for now: background
//! starts again, and the foreground's return counts as met.
//!
//! Of two numbers of rounds that start nearly the same, the one is taken whose harm is too rare to show in the
//! foreground's 99th percentile. It competes with the best choice of an interval alone, in starts per gap of a greedy
//! background. Closing has to be clearly better; less is enough where the interval would have to spend more than is
//! free.
//!
//! The forecast decides what is worth a trial; what is measured in the trial decides whether it goes on. Rounds that
//! cost more than is free become a [`Ceiling`].
//!
//! ```text
//!            forecast: a trial costs at most twice what is free, and gains
//!   interval ─────────────────────────────────────────────────────────────▶ k rounds ──┐ more gain with another k
//!      ▲                                                                      │    ▲     │
//!      └──── k = 0, or no longer better ──── k − 1, ceiling = k ◀── measured: harm └─────┘
//! ```
//!
//! Units: nanoseconds as `f64`; starts are per gap and place. Edge cases: without background service measured at the
//! present bound the course in force stays. Gaps in a bucket are taken to be spread evenly in it.
//!
//! Source: none; the paper's section 5.2 leaves adaptation open.

use super::ceiling::Ceiling;
use super::frontier::Cost;
use super::nanos;
use crate::histogram::{Histogram, bucket_of, lower_bound};
use crate::setting::Closing;
use crate::time::Nanos;

/// From an end in the device to the start of the request that it let go: the supervisor and the job each wake up.
pub(super) const LATENESS: Nanos = Nanos::from_micros(50);
/// Background services needed before a forecast is made.
const FEW_SERVICES: u64 = 16;
/// Arrivals that a judgement takes.
const ENOUGH: u64 = 20;
/// Loss that a trial may be expected to cost, over what is free.
const TRIAL: f64 = 2.0;
/// Gain over an interval alone that makes closing worth while.
const CLEARLY: f64 = 1.1;
/// The same where the interval spends more than is free.
const CHEAPER: f64 = 0.75;
/// What may be missing from these when closing is in force already.
const STAYS: f64 = 0.9;
/// Share of requests that may be delayed without being seen in the 99th percentile, with a reserve.
const UNSEEN: f64 = 0.007;
/// What an offer that is seen there is worth against one that is not.
const SEEN: f64 = 0.8;
/// Arrivals that tell such a share.
const ENOUGH_FOR_TAIL: u64 = 300;
/// The share of gaps after which the foreground is taken for gone.
const GONE: f64 = 0.995;
/// Parts into which each bucket of gaps is divided.
const PARTS: u32 = 4;
/// No more rounds than this are told apart.
const ROUNDS_MOST: u32 = 1_000;

/// Gaps and background service, ready for questions.
#[derive(Debug)]
pub(super) struct Forecast<'a> {
    cost: &'a Cost,
    /// In ascending order.
    gaps: Vec<Gap>,
    count: f64,
    /// Both ends of each bucket in use, and the share of services below its upper end.
    service: Vec<(f64, f64, f64)>,
    period: f64,
    until: Nanos,
}

/// Gaps of one length, and what does not depend on the number of rounds: the search asks it for each number of them.
#[derive(Clone, Copy, Debug)]
struct Gap {
    length: f64,
    number: f64,
    /// Rounds that it has room for.
    room: f64,
    /// Those of them after `until`.
    room_after: f64,
}

/// What a number of rounds would cost and do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) rounds: u32,
    pub(super) closing: Closing,
    /// Share of requests that meet background.
    pub(super) met: f64,
    pub(super) loss: f64,
    pub(super) starts: f64,
}

impl<'a> Forecast<'a> {
    /// `None` as long as there is too little to go by.
    pub(super) fn new(gaps: &Histogram, service: &Histogram, cost: &'a Cost) -> Option<Self> {
        let services = service.count();
        if services < FEW_SERVICES || gaps.count() == 0 {
            return None;
        }
        let mut below = 0;
        let spread = used(service).map(|(lower, upper, n)| {
            below += n;
            (lower, upper, below as f64 / services as f64)
        });
        let last = gaps.quantile(GONE)?;
        let period = service.sum_ns as f64 / services as f64 + LATENESS.0 as f64;
        let until = lower_bound(bucket_of(last) + 1);
        let gap = |(length, number): (f64, f64)| Gap {
            length,
            number,
            room: rounds_in(length, period),
            room_after: rounds_in(length - until.0 as f64, period),
        };
        Some(Self {
            cost,
            gaps: used(gaps).flat_map(divide).map(gap).collect(),
            count: gaps.count() as f64,
            service: spread.collect(),
            period,
            until,
        })
    }

    /// Starts per gap and place when background starts after `interval` and for the rest of the gap.
    pub(super) fn starts_after(&self, interval: Nanos) -> f64 {
        self.per_gap(|gap| rounds_in(gap.length - interval.0 as f64, self.period))
    }

    fn per_gap(&self, value: impl Fn(&Gap) -> f64) -> f64 {
        self.gaps.iter().map(|gap| gap.number * value(gap)).sum::<f64>() / self.count
    }

    /// Share of services longer than `span`.
    fn longer(&self, span: f64) -> f64 {
        let index = self.service.partition_point(|(_, upper, _)| *upper <= span);
        let Some((lower, upper, share)) = self.service.get(index) else { return 0.0 };
        let below = index.checked_sub(1).map_or(0.0, |before| self.service[before].2);
        let part = ((span - lower) / (upper - lower).max(1.0)).clamp(0.0, 1.0);
        1.0 - below - part * (share - below)
    }

    /// Starts per gap and place with so many rounds; more rounds never mean fewer.
    fn starts(&self, rounds: u32) -> f64 {
        self.per_gap(|gap| gap.room.min(rounds.into()) + gap.room_after)
    }

    /// More rounds never cost less.
    fn offer(&self, rounds: u32, starts: f64) -> Offer {
        let before_last = f64::from(rounds.saturating_sub(1)) * self.period;
        let until = self.until.0 as f64;
        let met = self.per_gap(|gap| {
            if gap.length >= until { 1.0 } else { self.longer(gap.length - before_last - LATENESS.0 as f64) }
        });
        let from = before_last + (self.period + LATENESS.0 as f64) / 2.0;
        let met = met * self.count / self.cost.requests.max(1.0) * self.cost.exposure;
        Offer {
            rounds,
            closing: Closing { from: nanos(from), until: self.until },
            met,
            loss: self.cost.loss(met, starts * self.count / self.cost.requests.max(1.0)),
            starts,
        }
    }

    /// One round, two, and so on until the usual gap is full; in larger steps where one makes little difference.
    fn rounds(&self) -> impl Iterator<Item = u32> {
        let most = f64::from(ROUNDS_MOST).min(rounds_in(self.until.0 as f64, self.period));
        std::iter::successors(Some(1_u32), |rounds| Some(rounds + 1 + rounds / 16))
            .take_while(move |rounds| f64::from(*rounds) <= most)
    }
}

/// Rounds of `period` that begin within `span`.
fn rounds_in(span: f64, period: f64) -> f64 {
    if span > 0.0 { (span / period).ceil() } else { 0.0 }
}

/// The buckets in use: lower and upper end, and count.
fn used(histogram: &Histogram) -> impl Iterator<Item = (f64, f64, u64)> {
    histogram
        .buckets
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(index, n)| (lower_bound(index).0 as f64, lower_bound(index + 1).0 as f64, *n))
}

fn divide((lower, upper, n): (f64, f64, u64)) -> impl Iterator<Item = (f64, f64)> {
    let parts = f64::from(PARTS);
    (0..PARTS).map(move |part| (lower + (upper - lower) * (f64::from(part) + 0.5) / parts, n as f64 / parts))
}

/// What the interval alone would reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rival {
    pub(super) loss: f64,
    pub(super) starts: f64,
}

/// What happened with the present number of rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) arrived: u64,
    pub(super) met: u64,
    /// Rounds of background per arrival.
    pub(super) served: f64,
}

impl Measured {
    /// The share that met background, if it is known well enough.
    fn met_share(&self) -> Option<f64> {
        (self.arrived >= ENOUGH_FOR_TAIL).then(|| self.met as f64 / self.arrived as f64)
    }

    /// The least loss that is consistent with what was counted (two standard errors), if that is enough.
    fn least_loss(&self, cost: &Cost) -> Option<f64> {
        (self.arrived >= ENOUGH).then(|| {
            let arrived = self.arrived as f64;
            let met = (self.met as f64 / arrived).min(1.0);
            cost.loss(met - 2.0 * (met * (1.0 - met) / arrived).sqrt(), self.served)
        })
    }
}

/// The number of rounds in force, and those that failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    rounds: u32,
    ceiling: Ceiling,
}

impl Rounds {
    /// Forgets what failed: something outside has changed.
    pub(super) fn restart(&mut self) {
        self.ceiling = Ceiling::default();
    }

    /// The number of rounds in force; zero when no gap closes.
    pub(super) fn in_force(&self) -> u32 {
        self.rounds
    }

    /// Closes the gaps or leaves it to the interval.
    pub(super) fn choose(
        &mut self,
        now: Nanos,
        forecast: &Forecast<'_>,
        measured: &Measured,
        rival: &Rival,
        free: f64,
    ) -> Option<Closing> {
        let least_loss = measured.least_loss(forecast.cost).filter(|_| self.rounds > 0);
        if least_loss.is_some_and(|loss| loss > free) {
            self.ceiling.lower_to(now, self.rounds);
        }
        let needed = if rival.loss > free { CHEAPER } else { CLEARLY } * rival.starts;
        let stays = if self.rounds > 0 { STAYS } else { 1.0 };
        let mut best: Option<(f64, Offer)> = None;
        // More rounds never mean fewer starts: those that do too little come first.
        let candidates: Vec<u32> = forecast.rounds().collect();
        let too_few = candidates.partition_point(|rounds| forecast.starts(*rounds) < needed * stays);
        for &rounds in &candidates[too_few..] {
            let starts = forecast.starts(rounds);
            let offer = forecast.offer(rounds, starts);
            let present = rounds == self.rounds;
            let proved = present && least_loss.is_some_and(|loss| loss <= free);
            let affordable = proved || offer.loss <= free * TRIAL;
            if !affordable && rounds > self.rounds {
                break;
            }
            if !affordable || self.ceiling.bars(now, rounds) {
                continue;
            }
            let met = measured.met_share().filter(|_| present).unwrap_or(offer.met);
            let worth =
                offer.starts * if met > UNSEEN { SEEN } else { 1.0 } / if present { STAYS } else { 1.0 };
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, offer));
            }
        }
        let best = best.map(|(_, offer)| offer);
        self.rounds = best.map_or(0, |offer| offer.rounds);
        best.map(|offer| offer.closing)
    }
}

#[cfg(test)]
mod tests;
