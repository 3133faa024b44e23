//! The arithmetic: device counters and the job's accounts in, an observation out. Pure.

use lull_core::{ClassView, Nanos, Observation};

use super::{DeviceCounts, JobIo};

/// After this time, half of what the job dirtied and no write-back showed is written off.
const WRITE_HALF_LIFE: Nanos = Nanos::from_secs(30);

/// One direction: the job's bytes that the device has not shown yet.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// From samples before the latest.
    old: u64,
    /// From the latest: possibly submitted after the device was read.
    fresh: u64,
    /// The job's mean request, learnt from samples in which nobody else completed any.
    request_bytes: Option<u64>,
}

impl Direction {
    const fn credit(self) -> u64 {
        self.old.saturating_add(self.fresh)
    }

    /// The job submitted or dirtied this much since the last sample.
    const fn charge(&mut self, bytes: u64) {
        self.fresh = self.fresh.saturating_add(bytes);
    }

    /// Takes up to `bytes` from the credit, the oldest first; returns how many there were.
    fn draw(&mut self, bytes: u64) -> u64 {
        let old = self.old.min(bytes);
        let fresh = self.fresh.min(bytes - old);
        self.old -= old;
        self.fresh -= fresh;
        old + fresh
    }

    /// The latest sample's part is old by the next one.
    const fn age(&mut self) {
        self.old = self.credit();
        self.fresh = 0;
    }

    /// Remembers the size of requests that were all the job's.
    fn learn(&mut self, size: u64) {
        self.request_bytes = Some(self.request_bytes.map_or(size, |known| known.midpoint(size)).max(1));
    }
}

/// One direction's part of a sample.
#[derive(Clone, Copy)]
struct Split {
    foreground_ended: u64,
    background_ended: u64,
    foreground_in_flight: u32,
    background_in_flight: u32,
}

/// Splits a device's activity into the job's and everybody else's.
#[derive(Clone, Debug, Default)]
pub struct Account {
    last: Option<(Nanos, DeviceCounts, JobIo)>,
    reads: Direction,
    writes: Direction,
    seen: Observation,
}

impl Account {
    /// Takes one sample. The first sets the zero: only what is in flight is told, as foreground.
    pub fn update(&mut self, now: Nanos, device: DeviceCounts, job: JobIo) -> Observation {
        let Some((then, old_device, old_job)) = self.last.replace((now, device, job)) else {
            let in_service = device.reads_in_flight.saturating_add(device.writes_in_flight);
            step(&mut self.seen.foreground, now, 0, in_service);
            return self.seen;
        };
        self.reads.charge(job.read_bytes.saturating_sub(old_job.read_bytes));
        self.writes.charge(job.write_bytes.saturating_sub(old_job.write_bytes));
        let reads = split(
            &mut self.reads,
            device.reads.saturating_sub(old_device.reads),
            device.read_bytes.saturating_sub(old_device.read_bytes),
            device.reads_in_flight,
        );
        let writes = split(
            &mut self.writes,
            device.writes.saturating_sub(old_device.writes),
            device.write_bytes.saturating_sub(old_device.write_bytes),
            device.writes_in_flight,
        );
        if device.reads_in_flight == 0 {
            self.reads.old = 0;
        }
        self.reads.age();
        self.writes.age();
        self.writes.old = faded(self.writes.old, now.since(then));

        step(
            &mut self.seen.foreground,
            now,
            reads.foreground_ended + writes.foreground_ended,
            reads.foreground_in_flight.saturating_add(writes.foreground_in_flight),
        );
        step(
            &mut self.seen.background,
            now,
            reads.background_ended + writes.background_ended,
            reads.background_in_flight.saturating_add(writes.background_in_flight),
        );
        self.seen
    }
}

/// What is left of an amount after a time, losing half per half-life (linearly within one).
fn faded(bytes: u64, passed: Nanos) -> u64 {
    let half_life = u128::from(WRITE_HALF_LIFE.0);
    let passed = u128::from(passed.0);
    let halvings = u32::try_from(passed / half_life).unwrap_or(u32::MAX);
    let left = bytes.checked_shr(halvings).unwrap_or(0);
    // Rounded up: at samples of a millisecond, small amounts would lose less than a byte and never fade.
    let part = (u128::from(left) * (passed % half_life)).div_ceil(2 * half_life);
    left - u64::try_from(part).unwrap_or(left)
}

/// Splits one direction: what the job's credit explains is background, the rest foreground.
fn split(direction: &mut Direction, ended: u64, bytes: u64, in_flight: u32) -> Split {
    let explained = direction.draw(bytes);
    let unexplained = bytes - explained;
    if let (0, Some(size)) = (unexplained, bytes.checked_div(ended).filter(|&size| size > 0)) {
        direction.learn(size);
    }
    let background_ended = match direction.request_bytes {
        // Requests without data are nobody's known doing.
        _ if explained == 0 => 0,
        _ if unexplained == 0 => ended,
        // Any foreground byte is at least one request.
        Some(size) => explained.div_ceil(size).min(ended.saturating_sub(1)),
        None => ended - share_up(ended, unexplained, bytes),
    };
    // As many of those in flight are the job's as its outstanding bytes fill.
    let size = direction.request_bytes.or_else(|| bytes.checked_div(ended)).filter(|&size| size > 0);
    let mine = match (direction.credit(), size) {
        (0, _) => 0,
        (outstanding, Some(size)) => {
            u32::try_from(outstanding.div_ceil(size)).unwrap_or(u32::MAX).min(in_flight)
        }
        (_, None) => in_flight,
    };
    Split {
        foreground_ended: ended - background_ended,
        background_ended,
        foreground_in_flight: in_flight - mine,
        background_in_flight: mine,
    }
}

/// `count × part ÷ whole`, rounded up, so that any foreground byte is at least one request.
fn share_up(count: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(count) * u128::from(part);
    u64::try_from(product.div_ceil(u128::from(whole.max(1)))).map_or(count, |share| share.min(count))
}

/// Advances a class: counts only grow, and an event is dated to the sample that showed it.
fn step(class: &mut ClassView, now: Nanos, ended: u64, in_service: u32) {
    if ended > 0 {
        class.ended = class.ended.saturating_add(ended);
        class.last_end = now;
    }
    class.in_service = in_service;
    let started = class.ended.saturating_add(u64::from(in_service));
    if started > class.started {
        class.started = started;
        class.last_start = now;
    }
}
