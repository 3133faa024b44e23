//! A network link: a rate, a delay and a queue of limited length.
//!
//! A packet holds the link for its bytes (with the frame around them) at the link's rate; its client learns of it one
//! delay later. A foreground packet that finds the queue full is lost. The protocols' own behaviour, in figures 9, 11 and
//! 12, is modelled in [`net`](crate::net).

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use super::{Request, Service};
use crate::span::nanos;

/// Preamble, header, check sum and gap of an Ethernet frame.
pub const ETHERNET_OVERHEAD_BYTES: u64 = 38;

/// What the link is like.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSetting {
    /// Rate.
    pub bits_per_second: u64,
    /// From one end to the other.
    pub delay: Nanos,
    /// Foreground packets that may wait.
    #[serde(default = "fifty")]
    pub queue: usize,
}

fn fifty() -> usize {
    50
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    setting: LinkSetting,
}

impl Link {
    /// An idle link.
    pub fn new(setting: LinkSetting) -> Self {
        Self { setting }
    }

    pub(super) fn queue(&self) -> usize {
        self.setting.queue
    }

    /// How long a packet of `bytes` holds the link.
    pub fn transmission(&self, bytes: u64) -> Nanos {
        let bits = bytes.saturating_add(ETHERNET_OVERHEAD_BYTES).saturating_mul(8);
        nanos(bits as f64 / self.setting.bits_per_second.max(1) as f64 * 1e9).max(Nanos(1))
    }

    pub(super) fn serve(&self, request: &Request) -> Service {
        Service { busy: self.transmission(request.bytes), after: self.setting.delay, left: Nanos::ZERO }
    }
}
