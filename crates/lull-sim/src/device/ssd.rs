//! A solid-state disk: channels that work side by side behind one interface.
//!
//! A request is spread over channels in pieces of `stripe_bytes`. Each channel works through its pieces one after the
//! other, so requests that share one wait for each other inside the device, where no host sees them; the interface
//! moves all data at one rate. The device takes up to `queue_depth` requests at once, in the order of their arrival,
//! whatever their class: that is why a bound on background in service matters here more than the interval.
//!
//! Units: bytes, nanoseconds. Writes and garbage collection are not modelled.

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use super::{Request, Service};
use crate::span::{Random, Span, nanos};

/// What the device is like.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SsdSetting {
    /// How much it holds.
    pub capacity_bytes: u64,
    /// Channels that work side by side.
    pub channels: u32,
    /// Requests that the device takes at once.
    pub queue_depth: u32,
    /// What one channel reads in one go.
    pub stripe_bytes: u64,
    /// Time of one such read.
    pub read: Span,
    /// Rate of the interface, shared by all.
    pub bytes_per_second: u64,
    /// What the controller takes for each request.
    pub overhead: Nanos,
}

impl Default for SsdSetting {
    /// Eight channels, 16 KiB in 60 to 80 µs, 2 GB/s.
    fn default() -> Self {
        Self {
            capacity_bytes: 256_000_000_000,
            channels: 8,
            queue_depth: 64,
            stripe_bytes: 16 * 1024,
            read: Span::Between(Nanos::from_micros(60), Nanos::from_micros(80)),
            bytes_per_second: 2_000_000_000,
            overhead: Nanos::from_micros(10),
        }
    }
}

/// A device with its channels at some work.
#[derive(Clone, Debug)]
pub struct Ssd {
    setting: SsdSetting,
    /// When each channel is free.
    free: Vec<Nanos>,
    /// When the interface is free.
    interface: Nanos,
}

impl Ssd {
    /// With nothing to do.
    pub fn new(setting: SsdSetting) -> Self {
        let channels = setting.channels.clamp(1, 1_024) as usize;
        Self { setting, free: vec![Nanos::ZERO; channels], interface: Nanos::ZERO }
    }

    /// Requests that it takes at once.
    pub fn queue_depth(&self) -> u32 {
        self.setting.queue_depth.clamp(1, 65_536)
    }

    /// How many bytes it holds.
    pub fn capacity(&self) -> u64 {
        self.setting.capacity_bytes.max(1)
    }

    pub(super) fn serve(&mut self, now: Nanos, request: &Request, random: &mut Random) -> Service {
        let stripe = self.setting.stripe_bytes.max(1);
        let first = request.offset / stripe;
        let last = request.offset.saturating_add(request.bytes.max(1) - 1) / stripe;
        let ready = now.plus(self.setting.overhead);
        let mut done = ready;
        // More pieces than this take their turns on channels that are all at work anyway.
        for piece in first..=last.min(first + 4_096) {
            let place = usize::try_from(piece % self.free.len() as u64).unwrap_or(0);
            let channel = &mut self.free[place];
            *channel = ready.max(*channel).plus(random.draw(self.setting.read));
            done = done.max(*channel);
        }
        let rate = self.setting.bytes_per_second.max(1) as f64;
        self.interface = done.max(self.interface).plus(nanos(request.bytes as f64 / rate * 1e9));
        Service { busy: self.interface.since(now).max(Nanos(1)), after: Nanos::ZERO, left: Nanos::ZERO }
    }
}
