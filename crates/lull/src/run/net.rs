//! The network of the live engine: per interface a sensor, an interval, and what holds the job's traffic.
//!
//! ```text
//!  BPF on the interface's queue ──round trip, cost─────▶ RoundTrips ──interval──▶ the interface's record
//!        │                                                                          │ read by the kernel
//!        │                                                                          ▼
//!        │                                                                TCP of the job: `lull_idle` yields
//!        ├──datagrams of the job in F or P──▶ a waiting room ──I, B──▶ the interface
//!        └──────leaks, where there is no room──▶ Hold ──▶ the job is frozen
//! ```
//!
//! TCP needs nothing of this process while it runs but a sign of life: the congestion control reads the state of the
//! interface in the kernel. What has no congestion control waits in a room ([`room`]); where none can be had it is held with
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

use lull_bpf::record::{WAKE_FOREGROUND_END, WAKE_LEAK};
use lull_bpf::{Congestion, Interface, NetSensor, NetSettings};
use lull_core::{
    DepthChoice, Histogram, Hold, HoldAction, HoldSetting, HoldState, Interval, IntervalChoice, Nanos,
    Observation, ParlourSetting, QueueBound, RoundTripSetting, RoundTrips, StartRule, State, Variant,
    derive_state,
};
use lull_linux::gate::room::Room;
use lull_linux::probe::net::{NetFacts, has_address, interfaces};
use lull_linux::root::Root;
use nix::net::if_::if_indextoname;
use serde::{Deserialize, Serialize};

pub(crate) mod options;
mod room;
pub(crate) mod when_used;

pub(crate) use room::wait_for;
use room::{Keeping, RoomThread};

use super::disk::policy_flags;
use super::messages::LinkStatus;
use super::settings::{RunSettings, SensorChoice};
use super::summary::{Delays, bytes};

/// How often intervals are set anew.
const ASK_EVERY: Nanos = Nanos::from_millis(25);
/// How long background is held without a further sign of life.
const HOLDS_FOR: Nanos = Nanos::from_secs(1);
/// How often interfaces are looked for.
const LIST_EVERY: Nanos = Nanos::from_secs(1);
/// The bound on background in an interface's queue, in packets, if none is given: with segmentation offload a connection hands over
/// 64 KiB at once, and a smaller bound would leave gaps.
const AUTO_DEPTH: u64 = 44;
/// What counts as a packet in that bound: a full one of an Ethernet.
const PACKET_BYTES: u64 = 1_514;
/// From so many packets it is said what a preemption costs.
const COST_PACKETS: u64 = 64;
/// A frozen job runs for this long between two holds.
const FLOOR: Nanos = Nanos::from_micros(500);

/// What all interfaces have in common.
#[derive(Clone, Copy, Debug)]
struct Rules {
    interval: IntervalChoice,
    variant: Variant,
    start_rule: StartRule,
    hold: Option<HoldSetting>,
    /// Background packets that may wait in the interface's queue.
    depth: DepthChoice,
}

impl Rules {
    /// For connections; 0 for no bound.
    fn depth_bytes(&self) -> u64 {
        match self.depth {
            DepthChoice::Auto => AUTO_DEPTH * PACKET_BYTES,
            DepthChoice::Fixed(u32::MAX) => 0,
            DepthChoice::Fixed(packets) => u64::from(packets) * PACKET_BYTES,
        }
    }

    /// What leaves a waiting room has a bound of its own.
    fn room_bound(&self) -> QueueBound {
        match self.depth {
            DepthChoice::Auto => QueueBound::default(),
            DepthChoice::Fixed(packets) => QueueBound::of_packets(packets),
        }
    }

    fn room_batch(&self) -> u32 {
        let most = ParlourSetting::default().batch;
        match self.depth {
            DepthChoice::Auto => most,
            DepthChoice::Fixed(packets) => packets.min(most),
        }
    }
}

/// One interface.
struct Link {
    name: String,
    index: u32,
    interface: Interface,
    trips: RoundTrips,
    cost: Cost,
    interval: Interval,
    hold: Option<Hold>,
    frozen: bool,
    room: Waiting,
}

/// What a preemption costs: how long background packets are in the queue, in the middle.
#[derive(Debug, Default)]
struct Cost {
    before: Histogram,
    last: Option<Nanos>,
}

impl Cost {
    fn step(&mut self, service: &Histogram) -> Option<Nanos> {
        self.last = self.fresh(service).or(self.last);
        self.last
    }

    /// As soon as enough packets have passed since the last.
    fn fresh(&mut self, service: &Histogram) -> Option<Nanos> {
        let new = service.since(&self.before);
        if new.count() < COST_PACKETS {
            return None;
        }
        self.before.clone_from(service);
        new.quantile(0.5)
    }
}

/// Where the datagrams of one interface wait.
enum Waiting {
    /// None was needed yet.
    Nowhere,
    Room(RoomThread),
    /// With the job; why.
    Refused(String),
}

impl Waiting {
    /// Asks the room to end; whether it has.
    fn is_left(&self) -> bool {
        match self {
            Self::Nowhere | Self::Refused(_) => true,
            Self::Room(thread) => thread.is_left(),
        }
    }
}

pub(crate) struct Net {
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
    pub(crate) fn start(
        settings: &RunSettings,
        group: Option<&Path>,
        now: Nanos,
    ) -> Result<(Self, Vec<String>), String> {
        if settings.sensor == SensorChoice::Diskstats {
            return Err("the network needs the BPF sensor: it is left as it is".to_owned());
        }
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
            protect: settings.protect.clone(),
            job_group: Some(group.to_owned()),
            fallback: NetFacts::read(&root).most_yielding().map(str::to_owned),
            tags: settings.tags.clone(),
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
        if settings.protect.cgroup_ids.is_empty() && !settings.protect.is_everything() {
            notes.push(
                "--protect by process id does not tell packets apart: all other traffic counts as foreground"
                    .to_owned(),
            );
        }
        if let Err(error) = sensor.tag_sockets(&settings.tags) {
            notes.push(format!("connections of other programs keep their class: {error}"));
        }
        for address in settings.tags.addresses.iter().filter(|address| !has_address(**address)) {
            notes.push(format!(
                "--net-address: {address} is no address of this host; `ip address` shows those that it has"
            ));
        }
        let hold = settings.hold.map(|hold| HoldSetting { floor: FLOOR, ..hold });
        let rules = Rules {
            interval: settings.control.interval,
            variant: settings.control.variant,
            start_rule: settings.control.start_rule,
            hold,
            depth: settings.control.depth,
        };
        let tags = !settings.tags.is_empty();
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
                || Room::is_room(&found.name)
                || self.links.iter().any(|link| link.index == found.index)
            {
                continue;
            }
            match self.sensor.watch(self.namespace, found.index) {
                Ok(interface) => self.links.push(Link {
                    name: found.name.clone(),
                    index: found.index,
                    interface,
                    trips: RoundTrips::new(RoundTripSetting::default(), now),
                    cost: Cost::default(),
                    interval: Interval::NONE,
                    hold: self.rules.hold.map(Hold::new),
                    frozen: false,
                    room: Waiting::Nowhere,
                }),
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
                RoomThread::start(Keeping {
                    index: link.index,
                    interface: link.interface.clone(),
                    variant: self.rules.variant,
                    start_rule: self.rules.start_rule,
                    longest,
                    batch: self.rules.room_batch(),
                    bound: self.rules.room_bound(),
                })
            });
            link.room = room.map_or_else(Waiting::Refused, Waiting::Room);
        }
    }

    /// Sends what a job that has ended left in waiting rooms; see [`wait_for`].
    pub(crate) fn empty_rooms(&self) -> Vec<mpsc::Receiver<()>> {
        let rooms = self.links.iter().filter_map(|link| match &link.room {
            Waiting::Room(thread) => Some(thread.empty()),
            Waiting::Nowhere | Waiting::Refused(_) => None,
        });
        rooms.collect()
    }

    /// Whether some interface wants the job frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        self.links.iter().any(|link| link.frozen)
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

impl Link {
    fn state(&self, observation: &Observation, now: Nanos, rules: &Rules) -> State {
        derive_state(observation, self.interval, rules.variant, rules.start_rule, now)
    }

    /// Runs the hold machine; says when it must run again at the latest.
    fn hold(&mut self, now: Nanos, rules: &Rules) -> Option<Nanos> {
        let observation = self.interface.observation(now);
        let state = self.state(&observation, now, rules);
        let hold = self.hold.as_mut()?;
        if let Waiting::Room(thread) = &self.room
            && thread.is_ready()
        {
            self.frozen = false;
            return None;
        }
        match hold.step(now, self.interface.leaks(), state, true) {
            Some(HoldAction::Freeze) => self.frozen = true,
            Some(HoldAction::Thaw) => self.frozen = false,
            None => {}
        }
        let next = hold.next_wake(now);
        match hold.state() {
            HoldState::Running => {
                self.interface.ask_wake(WAKE_LEAK);
                next
            }
            HoldState::Floor { .. } => next,
            HoldState::Held { .. } if state == State::Foreground => {
                self.interface.ask_wake(WAKE_FOREGROUND_END);
                // It may have ended before we asked.
                let later = self.state(&self.interface.observation(now), now, rules);
                if later == state { next } else { Some(now) }
            }
            HoldState::Held { .. } => {
                let from = match rules.start_rule {
                    StartRule::Completion => observation.foreground.last_end,
                    StartRule::Request => observation.foreground.last_start,
                };
                next.into_iter().chain(self.interval.end(from)).min()
            }
        }
    }

    fn summary(&self) -> InterfaceSummary {
        let report = self.interface.report();
        InterfaceSummary {
            interface: self.name.clone(),
            interval: self.interval.to_string(),
            foreground_packets: report.foreground.0,
            foreground_bytes: report.foreground.1,
            background_packets: report.background.0,
            background_bytes: report.background.1,
            queueing: Delays::of(&report.quiet, &report.loaded),
            preemptions: report.counters[2][0],
            kept_free: report.counters[3][0],
            leaks: report.leaks,
            parked: report.parked,
            others: report.others,
            no_room: match &self.room {
                Waiting::Nowhere => None,
                Waiting::Room(thread) => thread.failure().map(str::to_owned),
                Waiting::Refused(why) => Some(why.clone()),
            },
            counters: report.counters,
        }
    }
}

/// One interface's part of a summary. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct InterfaceSummary {
    pub(crate) interface: String,
    /// The preemption interval at the end, as text with a unit.
    pub(crate) interval: String,
    pub(crate) foreground_packets: u64,
    pub(crate) foreground_bytes: u64,
    pub(crate) background_packets: u64,
    pub(crate) background_bytes: u64,
    /// Time of foreground packets in the queue.
    #[serde(flatten)]
    pub(crate) queueing: Delays,
    /// Foreground packets that met background in the queue (B\[f\]), and that the interval kept free (P\[f\]).
    pub(crate) preemptions: u64,
    pub(crate) kept_free: u64,
    /// Datagrams of the job that were sent although the foreground was active.
    pub(crate) leaks: u64,
    /// Datagrams of the job that waited for the foreground.
    pub(crate) parked: u64,
    /// Packets of background that no socket of the job sent: named, or marked elsewhere.
    #[serde(default)]
    pub(crate) others: u64,
    /// Why datagrams had no room to wait in, so that the job was frozen instead.
    pub(crate) no_room: Option<String>,
    /// State × event counts, rows I F B P, columns f b t i.
    pub(crate) counters: [[u64; 4]; 4],
}

/// The network's part of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NetSummary {
    /// What controlled the job's TCP.
    pub(crate) congestion: String,
    pub(crate) interfaces: Vec<InterfaceSummary>,
}

impl NetSummary {
    /// A line for a person for each interface that the job used.
    pub(crate) fn text(&self) -> String {
        let used = self.interfaces.iter().filter(|one| one.background_packets > 0);
        used.map(|one| {
            let mut line = format!(
                "lull: {}: background {} in {} packets, foreground {}; interval {}",
                one.interface,
                bytes(one.background_bytes),
                one.background_packets,
                bytes(one.foreground_bytes),
                one.interval
            );
            if let Some(quiet) = one.queueing.quiet() {
                line += &format!("; foreground packets waited {quiet} without");
            }
            if let Some(loaded) = one.queueing.loaded() {
                line += &format!(", {loaded} with background in the queue");
            }
            line + "\n"
        })
        .collect()
    }
}
