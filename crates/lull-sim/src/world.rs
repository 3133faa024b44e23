//! A run: stations and their clients.
//!
//! Each client belongs to a station and to a class, and follows its [`Workload`]. All randomness comes from the seed, each
//! client and each class of each device with a sequence of its own: two runs that differ in the policy see the same
//! foreground. Memory depends on the number of stations and clients, not on the length of the run.
//!
//! Stations do not see each other, so they are run one after another (`site.rs`): time and memory are those of one station,
//! times their number.
//!
//! Time begins at one second, because zero means "never" to the policy.

mod site;

use lull_core::{Counters, Nanos, Setting};

use crate::class::Class;
use crate::device::Device;
use crate::policy::Policy;
use crate::span::Random;
use crate::station::{Station, Tally};
use crate::workload::Workload;
use site::Site;

/// The first moment.
pub const BEGIN: Nanos = Nanos::from_secs(1);

/// Who uses a station.
#[derive(Clone, Debug)]
pub struct Client {
    /// Position of its station.
    pub station: u32,
    /// Whose requests it makes.
    pub class: Class,
    /// When it makes them.
    pub workload: Workload,
    /// How much each moves.
    pub bytes: u64,
    /// CPU work of each, if that is what the station serves.
    pub work: Option<crate::span::Span>,
    /// Whether each lies behind the one before, instead of anywhere.
    pub sequential: bool,
}

/// Everything that takes part in a run.
#[derive(Clone, Debug)]
pub struct World {
    now: Nanos,
    sites: Vec<Site>,
    /// How many clients there are, at all stations.
    clients: u64,
    seed: u64,
}

impl World {
    /// An empty world.
    pub fn new(seed: u64) -> Self {
        Self { now: BEGIN, sites: Vec::new(), clients: 0, seed }
    }

    /// Adds a resource; returns its position.
    pub fn add_station(&mut self, device: Device, policy: &Policy) -> u32 {
        let number = u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
        let station = Station::new(device, policy, self.seed, u64::from(number));
        self.sites.push(Site::new(self.now, station));
        number
    }

    /// Adds a client, which begins now.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn add_client(&mut self, client: Client) {
        assert!((client.station as usize) < self.sites.len(), "no station {}", client.station);
        let random = Random::new(self.seed, self.clients << 8 | 0xC0);
        self.clients += 1;
        self.sites[client.station as usize].add(self.now, client, random);
    }

    /// Lets all happen that happens before `length` has passed since the beginning.
    pub fn run_until(&mut self, length: Nanos) {
        let end = BEGIN.plus(length);
        for site in &mut self.sites {
            while site.step(end) {}
        }
        self.now = self.now.max(end);
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Nanos {
        self.now.since(BEGIN)
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.sites.iter().map(Site::handled).sum()
    }

    /// Events that are yet to come: the world's memory grows with this and with nothing else.
    pub fn pending(&self) -> usize {
        self.sites.iter().map(Site::pending).sum()
    }

    /// What a class of a station got done so far.
    pub fn tally(&self, station: u32, class: Class) -> &Tally {
        self.station(station).tally(class)
    }

    /// The counters of a station's policy.
    pub fn counters(&self, station: u32) -> &Counters {
        self.station(station).counters()
    }

    /// The setting in force at a station.
    pub fn setting(&self, station: u32) -> &Setting {
        self.station(station).setting()
    }

    fn station(&self, number: u32) -> &Station {
        self.sites[number as usize].station()
    }

    /// As [`Self::run_until`], with all invariants checked after each event.
    #[cfg(test)]
    pub(crate) fn run_checked(&mut self, length: Nanos) {
        let end = BEGIN.plus(length);
        for site in &mut self.sites {
            while site.step(end) {
                site.check();
            }
        }
        self.now = self.now.max(end);
    }
}

#[cfg(test)]
mod tests;
