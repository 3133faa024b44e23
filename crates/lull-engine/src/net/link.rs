//! One interface: its interval, what a preemption costs there, and what holds the job's datagrams.

use lull_bpf::Interface;
use lull_bpf::record::{WAKE_FOREGROUND_END, WAKE_LEAK};
use lull_core::{
    DepthChoice, Hold, HoldAction, HoldSetting, HoldState, Interval, IntervalChoice, Nanos, Observation,
    QueueBound, RoundTripSetting, RoundTrips, StartRule, State, Variant, WaitingRoomSetting, derive_state,
};

use super::cost::Cost;
use super::waiting_room::WaitingRoomThread;
use crate::report::figures::Delays;
use crate::report::net::InterfaceSummary;

/// The bound on background in an interface's queue, in packets, if none is given: with segmentation offload a connection hands over
/// 64 KiB at once, and a smaller bound would leave gaps.
const AUTO_DEPTH: u64 = 44;
/// What counts as a packet in that bound: a full one of an Ethernet.
const PACKET_BYTES: u64 = 1_514;
/// What all interfaces have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) interval: IntervalChoice,
    pub(super) variant: Variant,
    pub(super) start_rule: StartRule,
    pub(super) hold: Option<HoldSetting>,
    /// Background packets that may wait in the interface's queue.
    pub(super) depth: DepthChoice,
}

impl Rules {
    /// For connections; 0 for no bound.
    pub(super) fn depth_bytes(&self) -> u64 {
        match self.depth {
            DepthChoice::Auto => AUTO_DEPTH * PACKET_BYTES,
            DepthChoice::Fixed(u32::MAX) => 0,
            DepthChoice::Fixed(packets) => u64::from(packets) * PACKET_BYTES,
        }
    }

    /// What leaves a waiting room has a bound of its own.
    pub(super) fn room_bound(&self) -> QueueBound {
        match self.depth {
            DepthChoice::Auto => QueueBound::default(),
            DepthChoice::Fixed(packets) => QueueBound::of_packets(packets),
        }
    }

    pub(super) fn room_batch(&self) -> u32 {
        let most = WaitingRoomSetting::default().batch;
        match self.depth {
            DepthChoice::Auto => most,
            DepthChoice::Fixed(packets) => packets.min(most),
        }
    }
}

/// One interface.
pub(super) struct Link {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) interface: Interface,
    pub(super) trips: RoundTrips,
    pub(super) cost: Cost,
    pub(super) interval: Interval,
    pub(super) hold: Option<Hold>,
    pub(super) held: bool,
    pub(super) room: Waiting,
}

/// Where the datagrams of one interface wait.
pub(super) enum Waiting {
    /// None was needed yet.
    Nowhere,
    InRoom(WaitingRoomThread),
    /// With the job; why.
    Refused(String),
}

impl Waiting {
    /// Asks the room to end; whether it has.
    pub(super) fn is_left(&self) -> bool {
        match self {
            Self::Nowhere | Self::Refused(_) => true,
            Self::InRoom(thread) => thread.is_left(),
        }
    }
}

impl Link {
    /// An interface that was just found.
    pub(super) fn new(name: String, index: u32, interface: Interface, rules: &Rules, now: Nanos) -> Self {
        Self {
            name,
            index,
            interface,
            trips: RoundTrips::new(RoundTripSetting::default(), now),
            cost: Cost::default(),
            interval: Interval::NONE,
            hold: rules.hold.map(Hold::new),
            held: false,
            room: Waiting::Nowhere,
        }
    }

    pub(super) fn state(&self, observation: &Observation, now: Nanos, rules: &Rules) -> State {
        derive_state(observation, self.interval, rules.variant, rules.start_rule, now)
    }

    /// Runs the hold machine; says when it must run again at the latest.
    pub(super) fn hold(&mut self, now: Nanos, rules: &Rules) -> Option<Nanos> {
        let observation = self.interface.observation(now);
        let state = self.state(&observation, now, rules);
        let hold = self.hold.as_mut()?;
        if let Waiting::InRoom(thread) = &self.room
            && thread.is_ready()
        {
            self.held = false;
            return None;
        }
        match hold.step(now, self.interface.leaks(), state, true) {
            Some(HoldAction::Hold) => self.held = true,
            Some(HoldAction::Release) => self.held = false,
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

    pub(super) fn summary(&self) -> InterfaceSummary {
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
                Waiting::InRoom(thread) => thread.failure().map(str::to_owned),
                Waiting::Refused(why) => Some(why.clone()),
            },
            counters: report.counters,
        }
    }
}

#[cfg(test)]
mod tests;
