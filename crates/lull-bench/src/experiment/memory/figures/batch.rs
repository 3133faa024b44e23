//! Figure 5: what the host loses while it gets its memory back, over the number of pages that are taken from
//! the guest at a time.
//!
//! The guest has filled its set when the host comes, fills its own, and touches as many pages again: two
//! iterations, as in the paper. The factor counts batches of the kernel (SWAP_CLUSTER_MAX, 32 pages of 4
//! KiB): the paper multiplies the length of the free list that its kernel aims at. `lull run --mem-batch`
//! takes that much at every look. Beside the factors: the host alone, which everything is relative to, the
//! guest at the lowest priority, and lull as it is when nothing is named (what is missing, at least 50
//! batches).

use lull_core::Nanos;

use super::page::{Filled, Page, Point};
use super::race::{Race, Side};
use super::{Bench, begin, race, shuffled};
use crate::Error;
use crate::contender::Contender;
use crate::experiment::memory::case::SET;

/// Bytes that a request of the load touches: 64 pages.
const REQUEST: u64 = 64 * 4096;
/// The guest has gone on for this long when the host comes.
const LAG: Nanos = Nanos::from_secs(1);
const EVERY: Nanos = Nanos::from_millis(20);

impl Bench<'_> {
    pub(super) fn batches(&self, page: &mut Page) -> Result<(), Error> {
        begin("figure 5")?;
        let Some(_swap) = self.swap("figure 5", page) else { return Ok(()) };
        let factors = self.args.figures.factors.iter().map(|factor| Point::Factor(*factor));
        let mut points = vec![Point::Alone, Point::Nice];
        points.extend(factors);
        points.push(Point::Default);
        points.retain(|point| self.has("figure 5", &point.control(), page));
        let size = self.scaled(SET);
        let host = race::working_set(&format!("--memory {size} --seed 1 --requests {}", size / REQUEST));
        let guest = race::working_set(&format!("--memory {size} --seed 2"));
        for round in 1..=self.args.common.rounds {
            for index in shuffled(points.len(), self.args.common.seed, round) {
                let Some(point) = points.get(index).copied() else { continue };
                let what = format!("  figure 5 {} round {round}", point.name());
                begin(&what)?;
                let parties = [
                    Some((&host[..], Contender::Unmanaged)),
                    Some((&guest[..], point.control())).filter(|_| point != Point::Alone),
                ];
                let (first, until) = (Some(Side::Guest), &[Side::Host]);
                let race = Race { first, lag: LAG, limit: self.limit(), until, every: EVERY };
                let raced = self.race(what.trim(), &parties, race, page)?;
                page.batches.extend(raced.map(|raced| Filled {
                    point,
                    round,
                    host_s: raced.host.and_then(|host| host.took_s()),
                    limit_s: self.limit().as_secs_f64(),
                    swapped_pages: raced.swapped_pages,
                }));
            }
        }
        Ok(())
    }
}
