//! Tables 2 and 3: when a host and a guest are done, if each wants most of a small machine's memory.
//!
//! ```text
//!   calibrate: how many requests a host alone makes in the time asked for          the work of everybody
//!   each round, shuffled: one after the other, together, host first and guest first under nice, and under lull
//! ```
//! The second comes when the first has its set, and an eighth of the work's time is over (10 of 82 s in the paper). Delay is what
//! the host needs longer than alone in the same round, from its own start on.

use lull_core::Nanos;
use serde::Serialize;

use super::race::{Order, Until};
use super::{Bench, Entry, Setting, begin, race, shuffled};
use crate::Error;
use crate::contender::Contender;
use crate::experiment::memory::case::SET;
use crate::report::linger::Page;

/// The second comes after this part of the work's time.
const LAG_PART: u64 = 8;
/// Time between two samples, which the tables do not show.
const EVERY: Nanos = Nanos::from_millis(100);

/// A row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    /// One after the other.
    Serial,
    /// At the same time, without any control.
    Together,
    /// The host first, the guest at the lowest priority.
    HostFirstNice,
    /// The guest first, at the lowest priority.
    GuestFirstNice,
    /// The host first, the guest under lull.
    HostFirstLull,
    /// The guest first, under lull.
    GuestFirstLull,
}

impl Row {
    /// All of them, as in the paper.
    pub const ALL: [Self; 6] = [
        Self::Serial,
        Self::Together,
        Self::HostFirstNice,
        Self::GuestFirstNice,
        Self::HostFirstLull,
        Self::GuestFirstLull,
    ];

    /// Its name in CSV files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Together => "together-equal",
            Self::HostFirstNice => "host-first-nice",
            Self::GuestFirstNice => "guest-first-nice",
            Self::HostFirstLull => "host-first-lull",
            Self::GuestFirstLull => "guest-first-lull",
        }
    }

    /// How the guest is run.
    pub fn control(self) -> Contender {
        match self {
            Self::Serial | Self::Together => Contender::Unmanaged,
            Self::HostFirstNice | Self::GuestFirstNice => Contender::Nice,
            Self::HostFirstLull | Self::GuestFirstLull => Contender::lull_now([]),
        }
    }

    const fn order(self) -> Order {
        match self {
            Self::Serial | Self::Together => Order::Together,
            Self::HostFirstNice | Self::HostFirstLull => Order::HostFirst,
            Self::GuestFirstNice | Self::GuestFirstLull => Order::GuestFirst,
        }
    }
}

/// One run of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// Which.
    pub row: Row,
    /// The round, from 1.
    pub round: u32,
    /// When each was done, since the first was started; none if it was given up.
    pub host_s: Option<f64>,
    /// The guest likewise.
    pub guest_s: Option<f64>,
    /// How long the host took from its own start; none if it was given up.
    pub host_took_s: Option<f64>,
    /// After how long runs are given up.
    pub limit_s: f64,
    /// Pages written to swap and read from it.
    pub swapped_pages: [u64; 2],
}

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
        let entry = Entry { load: &load, contender: Contender::Unmanaged };
        let raced =
            self.race("a host alone", &[Some(entry), None], self.to_the_end(Order::Together), page)?;
        Ok(raced.and_then(|raced| raced.host).map(|host| host.requests.max(1)))
    }

    fn to_the_end(&self, order: Order) -> Setting {
        let lag = Nanos(self.work().0 / LAG_PART);
        Setting { order, lag, limit: self.limit(), until: Until::Both, every: EVERY }
    }

    fn row(&self, row: Row, round: u32, requests: u64, page: &mut Page) -> Result<Option<Timed>, Error> {
        let set = |seed: u32| {
            let memory = self.scaled(SET);
            race::working_set(&format!("--memory {memory} --seed {seed} --requests {requests}"))
        };
        let (host, guest) = (set(1), set(2));
        let host_entry = || Entry { load: &host, contender: Contender::Unmanaged };
        let guest_entry = || Entry { load: &guest, contender: row.control() };
        let what = format!("{} round {round}", row.name());
        let setting = || self.to_the_end(row.order());
        let limit_s = self.limit().as_secs_f64();
        if row == Row::Serial {
            let Some(first) = self.race(&what, &[Some(host_entry()), None], setting(), page)? else {
                return Ok(None);
            };
            let Some(second) = self.race(&what, &[None, Some(guest_entry())], setting(), page)? else {
                return Ok(None);
            };
            let host_s = first.host.and_then(|host| host.ended_s);
            let after = second.guest.and_then(|guest| guest.ended_s);
            return Ok(Some(Timed {
                row,
                round,
                host_s,
                guest_s: host_s.zip(after).map(|(host, guest)| host + guest),
                host_took_s: host_s,
                limit_s,
                swapped_pages: added(first.swapped_pages, second.swapped_pages),
            }));
        }
        let raced = self.race(&what, &[Some(host_entry()), Some(guest_entry())], setting(), page)?;
        Ok(raced.map(|raced| Timed {
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
