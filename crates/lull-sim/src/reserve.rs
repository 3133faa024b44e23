//! Two sites on one server, each with a reservation: the experiments of Eclipse/BSD (Bruno and others, USENIX 1999, section 5), in kind.
//!
//! | module | figures | bottleneck | scheduler | beside it, *plain* |
//! |---|---|---|---|---|
//! | [`cpu`] | 4, 5 | requests that compute | MTR-LS | round robin over all processes |
//! | [`disk`] | 6 | files of 100 MB, read in pieces | YFQ in batches | one queue, in the order of the arm |
//! | [`link`] | 7 | a document of 1.5 MB | H-WF²Q | one queue, first in first out |
//! | [`input`] | 8, 9 | UDP packets of 10 bytes | SRP, with MTR-LS for the CPU | protocols in the interrupt |
//!
//! The schedulers are those of [`lull_core::proportional`]; this module adds clients, times and devices. The site of interest has some clients
//! that ask again as soon as they have an answer; the competing site has none to many. What is compared is the site's throughput and
//! response time with that of the same site alone, so that the speed of a machine of 1999 does not matter.
//!
//! Each run has a beginning that is left out (a tenth). Same seed, same result.

pub mod cpu;
pub mod disk;
pub mod input;
pub mod link;

use lull_core::{Nanos, Share};
use serde::Serialize;

/// What the experiments with two sites have in common.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What the site of interest has reserved; `None`: the plain system.
    pub share: Option<Share>,
    /// Its clients.
    pub clients: u32,
    /// Clients of the competing site, which has the rest but for a hundredth.
    pub load: u32,
    /// How long.
    pub length: Nanos,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Setup {
    /// The competing site's share.
    fn other(&self, share: Share) -> Share {
        Share::ppm((990_000_u32).saturating_sub(share.as_ppm()).max(10_000))
    }

    /// The part that is left out.
    fn begin(&self) -> Nanos {
        Nanos(self.length.0 / 10)
    }
}

/// What came of the site of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Site {
    /// Service per second: requests, bytes.
    pub throughput: f64,
    /// The mean time from asking to having the answer.
    pub response_s: f64,
}

/// Adds up answers after the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    amount: f64,
    answers: u64,
    waited_s: f64,
}

impl Meter {
    fn add(&mut self, setup: &Setup, now: Nanos, asked: Nanos, amount: f64) {
        if now >= setup.begin() {
            self.amount += amount;
            self.answers += 1;
            self.waited_s += now.since(asked).as_secs_f64();
        }
    }

    fn site(&self, setup: &Setup) -> Site {
        let length_s = setup.length.since(setup.begin()).as_secs_f64();
        let response_s = if self.answers > 0 { self.waited_s / self.answers as f64 } else { f64::NAN };
        Site { throughput: self.amount / length_s, response_s }
    }
}

#[cfg(test)]
mod tests;
