//! Tables 2 and 3: when a host and a guest are done, if each wants most of a small machine's memory.
//!
//! ```text
//!   calibrate: how many requests a host alone makes in the time asked for          the work of everybody
//!   each round, shuffled: one after the other, together, host first and guest first under nice, and under lull
//! ```
//! The second comes when the first has its set, and an eighth of the work's time is over (10 of 82 s in the
//! paper). Delay is what the host needs longer than alone in the same round, from its own start on.

use lull_core::Nanos;

use super::page::{Page, Row, Timed};
use super::race::{Race, Side};
use super::{Bench, begin, race, shuffled};
use crate::Error;
use crate::contender::Contender;
use crate::experiment::memory::case::SET;

/// The second comes after this part of the work's time.
const LAG_PART: u64 = 8;
/// Time between two samples, which the tables do not show.
const EVERY: Nanos = Nanos::from_millis(100);

impl Bench<'_> {
    pub(super) fn tables(&self, page: &mut Page) -> Result<(), Error> {
        begin("tables 2 and 3: how much a host does alone")?;
        let Some(_swap) = self.swap("tables 2 and 3", page) else { return Ok(()) };
        let Some(requests) = self.requests(page)? else { return Ok(()) };
        page.requests = requests;
        let mut rows = Row::ALL.to_vec();
        rows.retain(|row| self.has(row.name(), &row.control(), page));
        for round in 1..=self.args.common.rounds {
            for index in shuffled(rows.len(), self.args.common.seed, round) {
                let Some(row) = rows.get(index) else { continue };
                begin(&format!("  {} round {round}", row.name()))?;
                if let Some(timed) = self.row(*row, round, requests, page)? {
                    page.tables.push(timed);
                }
            }
        }
        Ok(())
    }

    /// How many requests a host alone makes in the time that was asked for.
    fn requests(&self, page: &mut Page) -> Result<Option<u64>, Error> {
        let seconds = self.work().as_secs_f64();
        let load = race::working_set(&format!("--memory {} --seed 1 --seconds {seconds}", self.scaled(SET)));
        let parties = [Some((&load[..], Contender::Unmanaged)), None];
        let raced = self.race("a host alone", &parties, self.to_the_end(None), page)?;
        Ok(raced.and_then(|raced| raced.host).map(|host| host.requests.max(1)))
    }

    fn to_the_end(&self, first: Option<Side>) -> Race {
        let lag = Nanos(self.work().0 / LAG_PART);
        Race { first, lag, limit: self.limit(), until: &[Side::Host, Side::Guest], every: EVERY }
    }

    fn row(&self, row: Row, round: u32, requests: u64, page: &mut Page) -> Result<Option<Timed>, Error> {
        let memory = self.scaled(SET);
        let set = |seed| race::working_set(&format!("--memory {memory} --seed {seed} --requests {requests}"));
        let (host, guest) = (set(1), set(2));
        let both = || [Some((&host[..], Contender::Unmanaged)), Some((&guest[..], row.control()))];
        let what = format!("{} round {round}", row.name());
        let mut race = |parties: &[_; 2]| self.race(&what, parties, self.to_the_end(row.first()), page);
        let limit_s = self.limit().as_secs_f64();
        if row == Row::Serial {
            let [host, guest] = both();
            let (Some(first), Some(second)) = (race(&[host, None])?, race(&[None, guest])?) else {
                return Ok(None);
            };
            let host_s = first.host.and_then(|host| host.ended_s);
            let after = second.guest.and_then(|guest| guest.ended_s);
            let guest_s = host_s.zip(after).map(|(host, guest)| host + guest);
            let swapped_pages = added(first.swapped_pages, second.swapped_pages);
            return Ok(Some(Timed {
                row,
                round,
                host_s,
                guest_s,
                host_took_s: host_s,
                limit_s,
                swapped_pages,
            }));
        }
        Ok(race(&both())?.map(|raced| Timed {
            row,
            round,
            host_s: raced.host.and_then(|host| host.ended_s),
            guest_s: raced.guest.and_then(|guest| guest.ended_s),
            host_took_s: raced.host.and_then(|host| host.took_s()),
            limit_s,
            swapped_pages: raced.swapped_pages,
        }))
    }
}

const fn added([a, b]: [u64; 2], [c, d]: [u64; 2]) -> [u64; 2] {
    [a + c, b + d]
}
