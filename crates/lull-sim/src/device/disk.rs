//! A spinning disk: one arm, one platter, requests in the order of the elevator.
//!
//! ```text
//!  C-LOOK: upwards from the arm, then back to the lowest that waits
//!      ──────▶ 310 ──▶ 480 ──▶ 905 ─┐
//!      ┌────────────────────────────┘
//!      └▶ 20 ──▶ 115 ──▶ ...
//!  arrival ─▶ wait for the arm ─▶ overhead ─▶ seek ─▶ rotate ─▶ transfer ─▶ done
//! ```
//! - *Seek* over a distance d (a fraction of the disk) takes `seek_min + (seek_max - seek_min) · √d`, nothing for d = 0.
//! - *Rotation*: the platter's angle is a function of the time, the wanted angle one of the position; a read that
//!   follows the last one directly needs neither.
//! - *Transfer* runs at one track per rotation.
//!
//! Units: bytes, nanoseconds. Source: section 3.1 of the paper (C-LOOK) and 4.2 (seek 15 ms, latency 5 ms, 8.2 GB).

use std::collections::VecDeque;

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use super::{Request, Service};
use crate::span::{Random, nanos};

/// What the disk is like.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiskSetting {
    /// How much it holds.
    pub capacity_bytes: u64,
    /// Bytes that pass the head in one rotation.
    pub track_bytes: u64,
    /// Seek to the next track.
    pub seek_min: Nanos,
    /// Seek over the whole disk.
    pub seek_max: Nanos,
    /// One rotation.
    pub rotation: Nanos,
    /// What the controller takes for each request.
    pub overhead: Nanos,
}

impl Default for DiskSetting {
    /// The Western Digital AC28200 of the paper: 20 ms for a random 512-byte read.
    ///
    /// 5,400 rotations per minute (11.1 ms) leave 5.6 ms on average; the mean of √d over two random places is 8/15, so that
    /// 2 ms and 24.6 ms give a mean seek of 14 ms; the controller takes the rest.
    fn default() -> Self {
        Self {
            capacity_bytes: 8_200_000_000,
            track_bytes: 100_000,
            seek_min: Nanos::from_millis(2),
            seek_max: Nanos::from_micros(24_600),
            rotation: Nanos::from_micros(11_100),
            overhead: Nanos::from_micros(400),
        }
    }
}

/// A disk with its arm somewhere.
#[derive(Clone, Debug)]
pub struct Disk {
    setting: DiskSetting,
    /// Where the last request ended.
    head: u64,
}

impl Disk {
    /// With the arm at the beginning.
    pub fn new(setting: DiskSetting) -> Self {
        Self { setting, head: 0 }
    }

    /// How many bytes it holds.
    pub fn capacity(&self) -> u64 {
        self.setting.capacity_bytes.max(1)
    }

    /// The first at or above the arm, otherwise the lowest.
    pub(super) fn c_look(&self, waiting: &VecDeque<Request>) -> usize {
        let key = |request: &Request| (request.offset < self.head, request.offset);
        waiting.iter().enumerate().min_by_key(|(_, request)| key(request)).map_or(0, |(index, _)| index)
    }

    pub(super) fn serve(&mut self, now: Nanos, request: &Request, _random: &mut Random) -> Service {
        let setting = &self.setting;
        let capacity = self.capacity() as f64;
        let track = setting.track_bytes.max(1);
        let transfer = nanos(request.bytes as f64 / track as f64 * setting.rotation.0 as f64);
        let busy = if request.offset == self.head {
            setting.overhead.plus(transfer)
        } else {
            let distance = request.offset.abs_diff(self.head) as f64 / capacity;
            let span = setting.seek_max.since(setting.seek_min).0 as f64;
            let seek = setting.seek_min.plus(nanos(span * distance.sqrt()));
            let arrived = now.plus(setting.overhead).plus(seek);
            // Angles as times: where the platter is, and where it has to be.
            let rotation = setting.rotation.0.max(1);
            let wanted = nanos((request.offset % track) as f64 / track as f64 * rotation as f64).0;
            let wait = (wanted + rotation - arrived.0 % rotation) % rotation;
            setting.overhead.plus(seek).plus(Nanos(wait)).plus(transfer)
        };
        self.head = request.offset.saturating_add(request.bytes);
        Service { busy: busy.max(Nanos(1)), after: Nanos::ZERO, left: Nanos::ZERO }
    }
}
