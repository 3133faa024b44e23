//! What becomes of a job's traffic here, tried: the programs are loaded, attached to nothing of the job, and go again.

use lull_bpf::{Congestion, NetSensor, NetSettings};
use lull_linux::gate::waiting_room::WaitingRoomDevice;
use lull_linux::probe::{Facts, InterfaceFacts};
use lull_linux::tun::{self, Layer};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use serde::Serialize;

use super::page::{Page, Tone};

/// The outcome.
#[derive(Debug, Serialize)]
pub(super) struct Network {
    /// What will control the job's TCP; `None`: the network is left as it is.
    congestion: Option<String>,
    /// Whether that knows the preemption interval.
    knows_interval: bool,
    /// In words.
    why: String,
    /// Whether datagrams wait in a room of their own, so that the job runs on meanwhile.
    datagrams_wait: bool,
    /// Why not.
    no_room: Option<String>,
}

impl Network {
    /// Tries.
    pub(super) fn look(facts: &Facts) -> Self {
        let left_alone = |why: String| Self {
            congestion: None,
            knows_interval: false,
            why,
            datagrams_wait: false,
            no_room: None,
        };
        if !facts.bpf.usable() {
            return left_alone("BPF programs cannot be loaded (see the sensor above)".to_owned());
        }
        if !facts.cgroups.v2.as_ref().is_some_and(|v2| v2.child.works()) {
            return left_alone(
                "no cgroup v2 group can be made, by which the job's sockets are told".to_owned(),
            );
        }
        let settings =
            NetSettings { fallback: facts.net.most_yielding().map(str::to_owned), ..NetSettings::default() };
        let mut sensor = match NetSensor::load(&settings) {
            Ok(sensor) => sensor,
            Err(error) => return left_alone(error.to_string()),
        };
        let (congestion, knows_interval, why) = match sensor.congestion().clone() {
            Congestion::Idle => (
                "lull_idle".to_owned(),
                true,
                "a congestion control of lull's own, which sends only what the foreground leaves".to_owned(),
            ),
            Congestion::Kernel { name, why } => {
                (name, false, format!("the kernel's, which knows no interval: {why}"))
            }
            Congestion::Unchanged { why } => {
                ("unchanged".to_owned(), false, format!("each socket keeps what it has: {why}"))
            }
        };
        let room = std::thread::scope(|scope| scope.spawn(|| try_room(&mut sensor)).join());
        let no_room = room.unwrap_or_else(|_| Err("the trial panicked".to_owned())).err();
        Self { congestion: Some(congestion), knows_interval, why, datagrams_wait: no_room.is_none(), no_room }
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page, facts: &Facts) {
        page.section("Network: how a job's traffic yields");
        let (tone, text) = match (&self.congestion, self.knows_interval) {
            (Some(name), true) => (Tone::Good, format!("{name}: {}", self.why)),
            (Some(name), false) => (Tone::Fair, format!("{name}: {}", self.why)),
            (None, _) => (Tone::Bad, format!("left as it is: {}", self.why)),
        };
        page.line("TCP", tone, &text);
        if self.congestion.is_some() {
            if facts.seccomp.usable() {
                page.line("begins", Tone::Good, "by default, with the job's first internet socket");
            } else {
                let text =
                    "only if it is named (--resources disk,cpu,net): no request gate sees the job's sockets";
                page.line("begins", Tone::Fair, text);
            }
            page.line(
                "mark",
                Tone::Good,
                "DSCP Lower Effort and the kernel's last priority, on every socket",
            );
            match &self.no_room {
                None => page.line(
                    "datagrams",
                    Tone::Good,
                    "wait outside the interface's queue; their senders wait in their calls",
                ),
                Some(why) => page.line(
                    "datagrams",
                    Tone::Fair,
                    &format!("the whole job is held while the foreground sends: {why}"),
                ),
            }
            page.line(
                "receiving",
                Tone::Good,
                "connections announce two packets of window while the foreground sends",
            );
        }
        for interface in facts.net.interfaces.iter().filter(|interface| !interface.loopback) {
            page.line(&interface.name, Tone::Plain, &describe(interface, self.congestion.is_some()));
        }
    }
}

/// Makes a waiting room beside an interface in a network namespace of this thread alone; all of it is gone with the thread.
fn try_room(sensor: &mut NetSensor) -> Result<(), String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| words(&error))?;
    let (_device, name) = tun::open("trial%d", Layer::Packets).map_err(|error| words(&error))?;
    let index = if_nametoindex(name.as_str()).map_err(|error| words(&error))?;
    let _room = WaitingRoomDevice::open(index).map_err(|error| words(&error))?;
    let interface = sensor.watch(0, index).map_err(|error| words(&error))?;
    sensor.hold_datagrams(&interface, index).map_err(|error| words(&error))
}

fn describe(interface: &InterfaceFacts, observed: bool) -> String {
    let state = if interface.up { "up" } else { "down" };
    let queue = match interface.queue_packets {
        Some(0) => ", no queue of its own".to_owned(),
        Some(packets) => format!(", room for {packets} packets in its queue"),
        None => String::new(),
    };
    let effect = if observed { "observed in its queue" } else { "not observed" };
    format!("{state}{queue}; {effect}")
}
