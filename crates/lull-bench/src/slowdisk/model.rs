//! How long a spinning disk takes: one arm, one platter, one request at a time, in arrival order.
//!
//! ```text
//!  arrival ─▶ wait for the arm ─▶ overhead ─▶ seek ─▶ rotate ─▶ transfer ─▶ done
//!                                     └─ in the read-ahead buffer: wait for the media, if at all ─▶ done
//! ```
//! - *Seek* over distance d (fraction of the disk) takes `seek_min + (seek_full - seek_min) · √d`, nothing for d = 0.
//! - *Rotation*: the platter's angle is a function of absolute time, the wanted angle one of the position on its track.
//! - *Transfer* runs at one track per rotation.
//! - *Read-ahead*: after a read the disk keeps reading on into a buffer of `read_ahead` bytes until the next request
//!   arrives. A read that lies within reach of the buffer needs no seek and no rotation, so sequential reads run at the
//!   speed of the media. A write ends the read-ahead; there is no write-back cache.
//!
//! The default is a 5400 rpm notebook disk of about 2005 of which 8.2 GB are used: random reads take about 20
//! ms, as in the measurements of the SOSP 2005 paper (figure 8); sequential reads run at 35 MB/s.
//!
//! All pure: time comes in with each request. Times in nanoseconds, positions in bytes.

use lull_core::Nanos;

use crate::units::{Bytes, whole};

/// The numbers of one disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Bytes on the disk.
    pub size: Bytes,
    /// Bytes on one track, read in one rotation.
    pub track: Bytes,
    /// One turn of the platter.
    pub rotation: Nanos,
    /// Shortest seek that moves the arm.
    pub seek_min: Nanos,
    /// Seek from the first to the last track.
    pub seek_full: Nanos,
    /// Controller and bus time per request.
    pub overhead: Nanos,
    /// Size of the read-ahead buffer.
    pub read_ahead: Bytes,
}

impl Default for Geometry {
    fn default() -> Self {
        Self {
            size: Bytes(8_200_000_000 / 4096 * 4096),
            track: Bytes(380 * Bytes::KIB),
            rotation: Nanos(60_000_000_000 / 5_400),
            seek_min: Nanos::from_micros(2_500),
            seek_full: Nanos::from_micros(24_000),
            overhead: Nanos::from_micros(300),
            read_ahead: Bytes(2 * Bytes::MIB),
        }
    }
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Data comes from the platter or from the read-ahead buffer.
    Read,
    /// Data goes to the platter.
    Write,
}

/// The read-ahead buffer: holds `start..reached`, filled at media speed since `since`.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    start: u64,
    consumed: u64,
    reached: u64,
    since: Nanos,
}

/// A disk in motion.
#[derive(Clone, Debug)]
pub struct Mechanism {
    geometry: Geometry,
    arm: u64,
    free_at: Nanos,
    ahead: Option<Ahead>,
}

impl Mechanism {
    /// A disk at rest with its arm at the first track.
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry, arm: 0, free_at: Nanos::ZERO, ahead: None }
    }

    /// When a request that arrives at `now` is done. Requests must be given in the order of their arrival.
    pub fn serve(&mut self, now: Nanos, kind: Access, offset: u64, length: u64) -> Nanos {
        let start = now.max(self.free_at);
        let end = offset.saturating_add(length);
        let ready = start.plus(self.geometry.overhead);
        let within = self.ahead.filter(|ahead| {
            kind == Access::Read
                && offset >= ahead.start
                && end <= ahead.consumed + self.geometry.read_ahead.0
        });
        let done = match within {
            Some(ahead) => {
                let reached = self.reached(ahead, start);
                let missing = self.transfer(end.saturating_sub(reached));
                let done = ready.max(start.plus(missing));
                let consumed = ahead.consumed.max(end);
                // Bytes the media passed up to `done`, within the room that this read leaves in the buffer.
                let filled = Ahead { consumed, reached, since: start, ..ahead };
                let reached = self.reached(filled, done).max(end);
                let start = ahead.start.max(consumed.saturating_sub(self.geometry.read_ahead.0));
                self.ahead = Some(Ahead { start, consumed, reached, since: done });
                self.arm = reached;
                done
            }
            None => {
                let on_track = ready.plus(self.seek(self.arm.abs_diff(offset)));
                let done = on_track.plus(self.rotate(on_track, offset)).plus(self.transfer(length));
                self.ahead = (kind == Access::Read).then_some(Ahead {
                    start: offset,
                    consumed: end,
                    reached: end,
                    since: done,
                });
                self.arm = end;
                done
            }
        };
        self.free_at = done;
        done
    }

    /// How far the media has been read into the buffer at `at`.
    fn reached(&self, ahead: Ahead, at: Nanos) -> u64 {
        let turns = at.since(ahead.since).as_nanos() as f64 / self.geometry.rotation.as_nanos() as f64;
        let read = whole(turns * self.geometry.track.0 as f64);
        let room = ahead.consumed.saturating_add(self.geometry.read_ahead.0).min(self.geometry.size.0);
        ahead.reached.saturating_add(read).min(room).max(ahead.reached)
    }

    fn seek(&self, distance: u64) -> Nanos {
        if distance < self.geometry.track.0 {
            return Nanos::ZERO;
        }
        let part = (distance as f64 / self.geometry.size.0.max(1) as f64).min(1.0).sqrt();
        let range = self.geometry.seek_full.since(self.geometry.seek_min).as_nanos() as f64;
        self.geometry.seek_min.plus(Nanos(whole(part * range)))
    }

    /// From `now` until the start of `offset` passes under the head.
    fn rotate(&self, now: Nanos, offset: u64) -> Nanos {
        let turn = self.geometry.rotation.as_nanos().max(1);
        let track = self.geometry.track.0.max(1);
        let wanted = u128::from(offset % track) * u128::from(turn) / u128::from(track);
        let wanted = u64::try_from(wanted).unwrap_or(0);
        Nanos((wanted + turn - now.as_nanos() % turn) % turn)
    }

    fn transfer(&self, length: u64) -> Nanos {
        let turns = length as f64 / self.geometry.track.0.max(1) as f64;
        Nanos(whole(turns * self.geometry.rotation.as_nanos() as f64))
    }
}

#[cfg(test)]
mod tests;
