//! What the lender is told, what it answers, and what it shows.

use serde::{Deserialize, Serialize};

use super::ladder::Rung;
use crate::budget::Kept;
use crate::share::Share;
use crate::time::Nanos;
use crate::trial::{Reading, Slowdown, TrialSetting};

/// How to lend one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LendSetting {
    /// How to test. Its budget is the promise; its longest hold may be shortened by `longest`.
    pub trial: TrialSetting,
    /// The share of time that the job gets whatever it costs; zero for none.
    pub floor: Share,
    /// The longest time that the job is held without a break, as long as there is a floor; but a test that needs longer
    /// holds to see anything ([`TrialSetting::least_longest`]) has them.
    pub longest: Nanos,
    /// A foreground without requests for this long is gone. Longer than any pause between its requests.
    pub away: Nanos,
    /// How long a rung that failed is left alone, the first time; then twice as long each time.
    pub hold_off: Nanos,
    /// At the most.
    pub longest_hold_off: Nanos,
    /// Loss at the upper end of what is possible must be affordable for this long before a rung is taken.
    pub trust: Nanos,
}

/// The least share, of CPUs: a job that runs for no more makes fewer than one request in a hundred longer.
const FLOOR: Share = Share::ppm(1_000);
/// The longest hold, of CPUs: each end of one costs the foreground a request.
const LONGEST: Nanos = Nanos::from_secs(1);

impl Default for LendSetting {
    fn default() -> Self {
        Self {
            trial: TrialSetting::default(),
            floor: FLOOR,
            longest: LONGEST,
            away: Nanos::from_secs(1),
            hold_off: Nanos::from_secs(20),
            longest_hold_off: Nanos::from_secs(300),
            trust: Nanos::from_secs(4),
        }
    }
}

/// What the sensors know at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LendReading {
    /// What the foreground did, and the work that background did.
    pub counts: Reading,
    /// Those of `counts` beside which background ran; none where that is not told.
    pub met: Reading,
    /// Whether a foreground request is in service now.
    pub busy: bool,
    /// For how long the job was ever let run.
    pub ran: Nanos,
    /// Whether the job has work for this resource.
    pub wants: bool,
}

/// What to do with the resource until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lending {
    /// Hold all background.
    Held,
    /// Let background in as this rung says.
    Rung(Rung),
    /// Let background run whatever the foreground does: it is owed.
    Forced,
}

/// What the lender knows, for the status line and the summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LendStatus {
    /// What is lent when nothing is tested.
    pub rung: Rung,
    /// What is probed beside it.
    pub probed: Option<Rung>,
    /// The slowdown on that rung, with its 95% interval. `None` when nothing is lent or nothing is known.
    pub slowdown: Option<Slowdown>,
    /// How often the rung has changed.
    pub moves: u32,
    /// Loss that may be spent now.
    pub credit: Nanos,
    /// Loss that was spent and is not earned yet.
    pub debt: Nanos,
    /// How the promise was kept.
    pub kept: Kept,
    /// Time withheld in order to test.
    pub withheld: Nanos,
    /// Time in which background had work.
    pub total: Nanos,
}
