//! TCP as FreeBSD 4.7 speaks it, in whole segments: the sender and the receiver of one connection.
//!
//! ```text
//!              new ack: +1 per ack      ssthresh      new ack: +1 per window
//!   ┌─────────────┐  ─────────────────────▶  ┌──────────────────────┐
//!   │ slow start  │                          │ congestion avoidance │
//!   └──────▲──────┘  ◀──── timeout: w = 1 ── └─────────┬────▲───────┘
//!          │ timeout                        3 repeated │    │ all that was out is acknowledged
//!          │                                      acks ▼    │
//!          └──────────────────────────────── ┌──────────────┴───────┐
//!                                            │ fast recovery        │ partial ack: send the next hole
//!                                            └──────────────────────┘
//! ```
//! - The round-trip estimator counts ticks of 10 ms and smooths with an eighth: the smallest estimate is 1.25 ms (section
//!   4.3 of the paper). Timeouts are the estimate and four deviations, one second at least, doubled each time.
//! - The receiver acknowledges every second segment, or after [`DELAY`]; at once when a segment is out of order.
//! - A full queue of the own host sets the window to one segment (`tcp_quench`).
//!
//! Units: segments are numbered from 0; windows are in segments. The receiver's window is never the limit: it reads at
//! once, and its buffer is as large as the sender's.
//!
//! Source: RFC 2581, RFC 2582 (NewReno), RFC 1122 (delayed acknowledgements).

use std::collections::BTreeSet;

use lull_core::Nanos;

use super::TICK;

/// Segments of 1,448 bytes in a buffer of 128 KB.
pub const BUFFER: u64 = 90;
/// How long an acknowledgement is put off.
pub const DELAY: Nanos = Nanos::from_millis(100);
/// The shortest timeout.
const LEAST_TIMEOUT: Nanos = Nanos::from_secs(1);
/// The longest timeout.
const MOST_TIMEOUT: Nanos = Nanos::from_secs(64);
/// Repeated acknowledgements that mean a loss.
const REPEATED: u32 = 3;

/// What the smoothed round-trip time is counted in: an eighth of a tick.
const EIGHTHS: f64 = 8.0;

/// The sending side.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The first that is not acknowledged.
    una: u64,
    /// The next to send.
    next: u64,
    /// The first that was never sent.
    fresh: u64,
    /// The end of what the process has written.
    written: u64,
    window: f64,
    threshold: f64,
    repeated: u32,
    /// In fast recovery until this is acknowledged.
    recover: Option<u64>,
    /// To be sent again before anything else.
    hole: Option<u64>,
    /// The segment whose round trip is measured, and when it was sent.
    timed: Option<(u64, Nanos)>,
    /// In eighths of a tick.
    smoothed: Option<f64>,
    /// In ticks.
    deviation: f64,
    doubled: u32,
    /// When the retransmission timer goes off.
    timeout: Option<Nanos>,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            una: 0,
            next: 0,
            fresh: 0,
            written: 0,
            window: 1.0,
            threshold: BUFFER as f64,
            repeated: 0,
            recover: None,
            hole: None,
            timed: None,
            smoothed: None,
            deviation: 0.0,
            doubled: 0,
            timeout: None,
        }
    }
}

impl Sender {
    /// How many segments the buffer takes now.
    pub fn space(&self) -> u64 {
        BUFFER.saturating_sub(self.written - self.una)
    }

    /// The process has written `segments` more.
    pub fn write(&mut self, segments: u64) {
        self.written += segments;
    }

    /// Segments that were acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Segments that may be out at once.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the buffer")]
    pub fn window(&self) -> u64 {
        (self.window.max(1.0) as u64).min(BUFFER)
    }

    /// When the retransmission timer goes off; `None`: nothing is out.
    pub fn timeout(&self) -> Option<Nanos> {
        self.timeout
    }

    /// The smoothed round-trip time; never below an eighth of a tick once there is one.
    pub fn round_trip(&self) -> Option<Nanos> {
        self.smoothed.map(|eighths| crate::span::nanos(eighths / EIGHTHS * TICK.0 as f64))
    }

    /// The segment to send at `now`, if any may be.
    pub fn send(&mut self, now: Nanos) -> Option<u64> {
        let segment = match self.hole.take() {
            Some(hole) => hole,
            None if self.next < self.written && self.next < self.una + self.window() => {
                self.next += 1;
                self.next - 1
            }
            None => return None,
        };
        if segment >= self.fresh {
            self.fresh = segment + 1;
            self.timed.get_or_insert((segment, now));
        }
        if self.timeout.is_none() {
            self.timeout = Some(now.plus(self.length()));
        }
        Some(segment)
    }

    /// Whether [`Self::send`] would give a segment.
    pub fn can_send(&self) -> bool {
        self.hole.is_some() || (self.next < self.written && self.next < self.una + self.window())
    }

    /// The own host had no room for a segment.
    pub fn quench(&mut self) {
        self.window = 1.0;
    }

    /// Everything below `segment` has arrived.
    pub fn acknowledge(&mut self, now: Nanos, segment: u64) {
        let segment = segment.min(self.fresh);
        if segment > self.una {
            self.advance(now, segment);
        } else if segment == self.una && self.fresh > self.una {
            self.repeat();
        }
    }

    fn advance(&mut self, now: Nanos, segment: u64) {
        let gained = segment - self.una;
        self.una = segment;
        self.next = self.next.max(segment);
        self.repeated = 0;
        self.doubled = 0;
        if let Some((timed, sent)) = self.timed
            && segment > timed
        {
            self.measure(sent, now);
            self.timed = None;
        }
        match self.recover {
            Some(recover) if segment < recover => {
                self.hole = Some(segment);
                self.window = (self.window - gained as f64 + 1.0).max(1.0);
            }
            Some(_) => {
                self.recover = None;
                self.window = self.threshold;
            }
            None if self.window < self.threshold => self.window += 1.0,
            None => self.window += 1.0 / self.window.max(1.0),
        }
        self.window = self.window.min(2.0 * BUFFER as f64);
        self.timeout = (self.fresh > self.una).then(|| now.plus(self.length()));
    }

    fn repeat(&mut self) {
        self.repeated += 1;
        if self.recover.is_some() {
            self.window += 1.0;
        } else if self.repeated == REPEATED {
            self.threshold = (self.window.min(BUFFER as f64) / 2.0).max(2.0);
            self.window = self.threshold + f64::from(REPEATED);
            self.recover = Some(self.fresh);
            self.hole = Some(self.una);
            self.timed = None;
        }
    }

    /// The retransmission timer has gone off at `now`.
    pub fn expire(&mut self, now: Nanos) {
        if self.timeout.is_none_or(|at| at > now) {
            return;
        }
        self.threshold = (self.window.min(BUFFER as f64) / 2.0).max(2.0);
        self.window = 1.0;
        self.next = self.una;
        self.recover = None;
        self.hole = None;
        self.repeated = 0;
        self.timed = None;
        self.doubled = (self.doubled + 1).min(6);
        self.timeout = Some(now.plus(self.length()));
    }

    /// The round trip in whole ticks, the one begun counted in full.
    fn measure(&mut self, sent: Nanos, now: Nanos) {
        let ticks = (now.0 / TICK.0 - (sent.0 / TICK.0).min(now.0 / TICK.0)) as f64;
        match self.smoothed {
            None => {
                self.smoothed = Some((ticks * EIGHTHS).max(1.0));
                self.deviation = ticks / 2.0;
            }
            Some(smoothed) => {
                let error = ticks - smoothed / EIGHTHS;
                self.smoothed = Some((smoothed + error).max(1.0));
                self.deviation += (error.abs() - self.deviation) / 4.0;
            }
        }
    }

    fn length(&self) -> Nanos {
        let ticks = self.smoothed.unwrap_or(0.0) / EIGHTHS + 4.0 * self.deviation;
        let base = crate::span::nanos(ticks * TICK.0 as f64).max(LEAST_TIMEOUT);
        base.times(1 << self.doubled).min(MOST_TIMEOUT)
    }
}

/// What the receiver does about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Acknowledges up to this.
    Now(u64),
    /// Waits for another segment, until this moment at the latest.
    Later(Nanos),
}

/// The receiving side.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    expected: u64,
    early: BTreeSet<u64>,
    /// When the acknowledgement that is put off is due.
    due: Option<Nanos>,
}

impl Receiver {
    /// `segment` has arrived.
    pub fn take(&mut self, now: Nanos, segment: u64) -> Answer {
        if segment != self.expected {
            if segment > self.expected {
                self.early.insert(segment);
            }
            self.due = None;
            return Answer::Now(self.expected);
        }
        self.expected += 1;
        let filled = !self.early.is_empty();
        while self.early.remove(&self.expected) {
            self.expected += 1;
        }
        if filled || self.due.is_some() {
            self.due = None;
            return Answer::Now(self.expected);
        }
        let due = now.plus(DELAY);
        self.due = Some(due);
        Answer::Later(due)
    }

    /// The time of a delayed acknowledgement has come: what to acknowledge, if it was not by now.
    pub fn overdue(&mut self, now: Nanos) -> Option<u64> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            return Some(self.expected);
        }
        None
    }
}

#[cfg(test)]
mod tests;
