//! The network of the live engine: per interface a sensor, an interval, and what holds the job's traffic.
//!
//! ```text
//!  BPF on the interface's queue ──round trip, cost─────▶ RoundTrips ──interval──▶ the interface's record
//!        │                                                                          │ read by the kernel
//!        │                                                                          ▼
//!        │                                                                TCP of the job: `lull_idle` yields
//!        ├──datagrams of the job in F or P──▶ a waiting room ──I, B──▶ the interface
//!        └──────leaks, where there is no room──▶ Hold ──▶ the job is held
//! ```
//!
//! TCP needs nothing of this process while it runs but a sign of life: the congestion control reads the state of the
//! interface in the kernel. What has no congestion control waits in a room (`waiting_room`); where none can be had it is held with
//! the job, as reads that no gate sees are on a disk.
//!
//! The interfaces of the own network namespace are looked for now and then; loopback is left alone, since it has no
//! link that could be full. An interface that vanishes keeps its last numbers, and its record is free for another.
//!
//! Source: the paper, sections 3.2 and 4.3.

use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc;

use lull_bpf::{Congestion, NetSensor, NetSettings, Protect, Tags};
use lull_core::{ControlSetting, HoldSetting, IntervalChoice, Nanos};
use lull_linux::gate::waiting_room::WaitingRoomDevice;
use lull_linux::probe::net::{NetFacts, has_address, interfaces};
use lull_linux::root::Root;
use nix::net::if_::if_indextoname;

mod cost;
mod link;
pub mod resource;
mod waiting_room;
mod when_used;

use crate::disk::policy_flags;
use crate::report::net::{InterfaceSummary, NetSummary};
use crate::report::status::LinkStatus;
use link::{Link, Rules, Waiting};
use waiting_room::{Keeping, WaitingRoomThread};

/// How often intervals are set anew.
const ASK_EVERY: Nanos = Nanos::from_millis(25);
/// How long background is held without a further sign of life.
const HOLDS_FOR: Nanos = Nanos::from_secs(1);
/// How often interfaces are looked for.
const LIST_EVERY: Nanos = Nanos::from_secs(1);
/// A held job runs for this long between two holds.
const FLOOR: Nanos = Nanos::from_micros(500);

/// What is wanted of the network.
#[derive(Clone, Debug)]
pub struct NetAim {
    /// What is foreground.
    pub protect: Protect,
    /// What else is background than the job's own traffic.
    pub tags: Tags,
    /// How each interface is controlled.
    pub control: ControlSetting,
    /// How the job is held for datagrams that cannot wait; `None`: it never is.
    pub hold: Option<HoldSetting>,
}

/// See the module.
pub struct Net {
    sensor: NetSensor,
    rules: Rules,
    namespace: u32,
    links: Vec<Link>,
    /// What became of those that the job used and that are gone.
    gone: Vec<InterfaceSummary>,
    /// The first trouble with interfaces, and whether it was told.
    trouble: Option<String>,
    is_told: bool,
    /// Whether traffic of other programs was named as background.
    tags: bool,
    asked: Nanos,
    listed: Nanos,
}

impl Net {
    /// Marks what the job will open and begins to observe; with what a person should know. Or why not.
    ///
    /// # Errors
    /// Why the network is left as it is, for a person.
    pub fn start(aim: &NetAim, group: Option<&Path>, now: Nanos) -> Result<(Self, Vec<String>), String> {
        let Some(group) = group else {
            return Err(
                "no cgroup v2 group for the job, so its sockets cannot be marked: the network is left as it is; lull doctor says why"
                    .to_owned(),
            );
        };
        let root = Root::real();
        let namespace = std::fs::metadata("/proc/self/ns/net").map(|found| found.ino());
        let namespace = namespace.ok().and_then(|number| u32::try_from(number).ok());
        let Some(namespace) = namespace else {
            return Err("no network namespace in /proc/self/ns: the network is left as it is".to_owned());
        };
        let sensor = NetSensor::load(&NetSettings {
            protect: aim.protect.clone(),
            job_group: Some(group.to_owned()),
            fallback: NetFacts::read(&root).most_yielding().map(str::to_owned),
            tags: aim.tags.clone(),
        });
        let mut sensor = sensor.map_err(|error| error.to_string())?;
        let mut notes = Vec::new();
        match sensor.congestion() {
            Congestion::Idle => {}
            Congestion::Kernel { name, why } => {
                notes.push(format!("TCP of the job uses '{name}', which knows nothing of intervals: {why}"));
            }
            Congestion::Unchanged { why } => {
                notes.push(format!("TCP of the job keeps its congestion control: {why}"));
            }
        }
        if aim.protect.cgroup_ids.is_empty() && !aim.protect.is_everything() {
            notes.push(
                "--protect by process id does not tell packets apart: all other traffic counts as foreground"
                    .to_owned(),
            );
        }
        if let Err(error) = sensor.tag_sockets(&aim.tags) {
            notes.push(format!("connections of other programs keep their class: {error}"));
        }
        for address in aim.tags.addresses.iter().filter(|address| !has_address(**address)) {
            notes.push(format!(
                "--net-address: {address} is no address of this host; `ip address` shows those that it has"
            ));
        }
        let hold = aim.hold.map(|hold| HoldSetting { floor: FLOOR, ..hold });
        let rules = Rules {
            interval: aim.control.interval,
            variant: aim.control.variant,
            start_rule: aim.control.start_rule,
            hold,
            depth: aim.control.depth,
        };
        let tags = !aim.tags.is_empty();
        let mut net = Self {
            sensor,
            rules,
            namespace,
            links: Vec::new(),
            gone: Vec::new(),
            trouble: None,
            is_told: false,
            tags,
            asked: now,
            listed: now,
        };
        net.list(now);
        notes.extend(net.take_trouble());
        net.ask(now);
        Ok((net, notes))
    }

    /// Polls readable when an interface has woken us.
    pub(crate) fn wake_fd(&self) -> RawFd {
        self.sensor.wake_fd()
    }

    /// Takes all wake-ups that are there.
    pub(crate) fn drain(&self) {
        self.sensor.drain();
    }

    /// Finds interfaces that are new and leaves those that are gone.
    fn list(&mut self, now: Nanos) {
        self.listed = now;
        self.leave_gone();
        let trouble = self.find_new(now);
        self.trouble = self.trouble.take().or(trouble);
    }

    /// Trouble with an interface that was not told yet. Only the first is: it would come back with every look.
    pub(crate) fn take_trouble(&mut self) -> Option<String> {
        let trouble = self.trouble.take().filter(|_| !self.is_told);
        self.is_told |= trouble.is_some();
        trouble
    }

    /// Gives back what interfaces had that are gone. A room ends by itself, and is waited for until the next look.
    fn leave_gone(&mut self) {
        let is_gone = |link: &mut Link| if_indextoname(link.index).is_err() && link.room.is_left();
        for link in self.links.extract_if(.., is_gone) {
            self.sensor.unwatch(self.namespace, link.index, &link.interface);
            self.gone.extend(Some(link.summary()).filter(|gone| gone.background_packets > 0));
        }
    }

    /// Finds interfaces that are new; the first trouble with them.
    fn find_new(&mut self, now: Nanos) -> Option<String> {
        let mut trouble = None;
        for found in interfaces(&Root::real()) {
            if found.loopback
                || WaitingRoomDevice::is_room(&found.name)
                || self.links.iter().any(|link| link.index == found.index)
            {
                continue;
            }
            match self.sensor.watch(self.namespace, found.index) {
                Ok(interface) => {
                    self.links.push(Link::new(found.name.clone(), found.index, interface, &self.rules, now));
                }
                Err(error) => return Some(error.to_string()),
            }
            if self.tags
                && let Err(error) = self.sensor.tag_packets(found.index)
            {
                let name = found.name;
                let told = || format!("what was named as background leaves {name} unmarked: {error}");
                trouble = trouble.or_else(|| Some(told()));
            }
        }
        trouble
    }

    /// Gives every interface its interval and the sign of life.
    fn ask(&mut self, now: Nanos) {
        self.asked = now;
        for link in &mut self.links {
            let receive = match self.rules.interval {
                IntervalChoice::Auto => {
                    let cost = link.cost.step(&link.interface.service());
                    link.interval = link.trips.step(now, link.interface.take_rtt(), cost);
                    // What background costs on the way here does not show in the queue to send.
                    link.trips.whole()
                }
                IntervalChoice::Fixed(interval) => {
                    link.interval = interval;
                    interval
                }
            };
            let flags = policy_flags(self.rules.variant, self.rules.start_rule);
            link.interface.set_policy(link.interval, receive, flags);
            link.interface.set_depth(self.rules.depth_bytes());
            link.interface.hold_until(now.plus(HOLDS_FOR));
        }
    }

    /// Does what is due; returns when to look again.
    pub(crate) fn turn(&mut self, now: Nanos) -> Nanos {
        if now.since(self.listed) >= LIST_EVERY {
            self.list(now);
        }
        if now.since(self.asked) >= ASK_EVERY {
            self.ask(now);
        }
        self.make_rooms();
        let rules = self.rules;
        let holds = self.links.iter_mut().filter_map(|link| link.hold(now, &rules)).min();
        let next = self.asked.plus(ASK_EVERY);
        holds.map_or(next, |at| at.min(next))
    }

    /// Makes a waiting room for each interface through which the job has sent a datagram in F or P.
    fn make_rooms(&mut self) {
        let Some(longest) = self.rules.hold.map(|hold| hold.longest) else { return };
        let tags = self.tags;
        let needing = |link: &&mut Link| {
            let others = tags && link.interface.others() > 0;
            matches!(link.room, Waiting::Nowhere) && (link.interface.leaks() > 0 || others)
        };
        for link in self.links.iter_mut().filter(needing) {
            let held = self.sensor.hold_datagrams(&link.interface, link.index);
            let room = held.map_err(|error| error.to_string()).and_then(|()| {
                WaitingRoomThread::start(Keeping {
                    index: link.index,
                    interface: link.interface.clone(),
                    variant: self.rules.variant,
                    start_rule: self.rules.start_rule,
                    longest,
                    batch: self.rules.room_batch(),
                    bound: self.rules.room_bound(),
                })
            });
            link.room = room.map_or_else(Waiting::Refused, Waiting::InRoom);
        }
    }

    /// Sends what a job that has ended left in waiting rooms; see [`wait_for`].
    pub(crate) fn empty_rooms(&self) -> Vec<mpsc::Receiver<()>> {
        let rooms = self.links.iter().filter_map(|link| match &link.room {
            Waiting::InRoom(thread) => Some(thread.empty()),
            Waiting::Nowhere | Waiting::Refused(_) => None,
        });
        rooms.collect()
    }

    /// Whether some interface wants the job held.
    pub(crate) fn wants_hold(&self) -> bool {
        self.links.iter().any(|link| link.held)
    }

    /// The interfaces that the job sends through.
    pub(crate) fn status(&self, now: Nanos) -> Vec<LinkStatus> {
        let used = self.links.iter().map(|link| (link, link.interface.report().background.1));
        used.filter(|(_, sent)| *sent > 0)
            .map(|(link, background_bytes)| LinkStatus {
                interface: link.name.clone(),
                state: link.state(&link.interface.observation(now), now, &self.rules).letter(),
                interval: link.interval.to_string(),
                background_bytes,
            })
            .collect()
    }

    pub(crate) fn summary(&self) -> NetSummary {
        NetSummary {
            congestion: match self.sensor.congestion() {
                Congestion::Idle => "lull_idle".to_owned(),
                Congestion::Kernel { name, .. } => name.clone(),
                Congestion::Unchanged { .. } => "unchanged".to_owned(),
            },
            interfaces: self.gone.iter().cloned().chain(self.links.iter().map(Link::summary)).collect(),
        }
    }
}

impl Drop for Net {
    /// What other processes have by then of the job's connections is not lull's any more.
    fn drop(&mut self) {
        // Where windows cannot be opened they stay as they are.
        let _ = self.sensor.leave_sockets();
    }
}
