//! One processor core: slices of a quantum, context switches, and a cache that others fill.
//!
//! A request is a burst of work. It runs for at most a quantum; what is left waits again. Whenever another client's work
//! comes onto the core, a switch is paid, and the cache is reloaded: the more the longer the others ran, up to all of
//! it. For background each slice is a request of its own under the policy: the preemption cost is the rest of the
//! slice, then the switch, then the reload.
//!
//! ```text
//!  client 1  ▇▇▇▇▇▇▇▇│                    │switch│reload│▇▇▇▇▇
//!  client 2          │switch│reload│▇▇▇▇▇▇│
//! ```
//!
//! Units: nanoseconds of work. Edge cases: work of 0 still takes its switch.

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use super::{Request, Service};
use crate::span::nanos;

/// What the core is like.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CpuSetting {
    /// The longest slice.
    pub quantum: Nanos,
    /// A switch from one client to another.
    pub switch: Nanos,
    /// Reloading the whole cache.
    pub reload: Nanos,
    /// How long others run until nothing of a client is left in the cache.
    pub eviction: Nanos,
}

impl Default for CpuSetting {
    /// Slices of 3 ms, switches of 2 µs, and a cache of 1 MiB that takes 100 µs to fill and 1 ms to lose.
    fn default() -> Self {
        Self {
            quantum: Nanos::from_millis(3),
            switch: Nanos::from_micros(2),
            reload: Nanos::from_micros(100),
            eviction: Nanos::from_millis(1),
        }
    }
}

/// A core with something in its cache.
#[derive(Clone, Debug)]
pub struct Cpu {
    setting: CpuSetting,
    last: Option<u32>,
    /// The total of all slices so far.
    ran: Nanos,
    /// By client: the total when it last left the core.
    left_at: Vec<Nanos>,
}

impl Cpu {
    /// With a cold cache.
    pub fn new(setting: CpuSetting) -> Self {
        Self { setting, last: None, ran: Nanos::ZERO, left_at: Vec::new() }
    }

    pub(super) fn serve(&mut self, request: &Request) -> Service {
        let client = request.client as usize;
        if self.left_at.len() <= client {
            self.left_at.resize(client + 1, Nanos::ZERO);
        }
        let work = request.work.unwrap_or_default();
        let slice = work.min(self.setting.quantum.max(Nanos(1)));
        let changed = self.last != Some(request.client);
        let cost = if changed {
            let others = self.ran.since(self.left_at[client]).0 as f64;
            let lost = (others / self.setting.eviction.0.max(1) as f64).min(1.0);
            self.setting.switch.plus(nanos(self.setting.reload.0 as f64 * lost))
        } else {
            Nanos::ZERO
        };
        self.last = Some(request.client);
        self.ran = self.ran.plus(slice);
        self.left_at[client] = self.ran;
        Service { busy: cost.plus(slice).max(Nanos(1)), after: Nanos::ZERO, left: work.since(slice) }
    }
}
