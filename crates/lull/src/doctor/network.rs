//! What becomes of a job's traffic here, tried: the programs are loaded, attached to nothing of the job, and go again.

use lull_bpf::{Congestion, NetSensor, NetSettings};
use lull_linux::probe::{Facts, InterfaceFacts};
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
}

impl Network {
    /// Tries.
    pub(super) fn look(facts: &Facts) -> Self {
        let left_alone = |why: String| Self { congestion: None, knows_interval: false, why };
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
        match NetSensor::load(&settings).map(|sensor| sensor.congestion().clone()) {
            Ok(Congestion::Idle) => Self {
                congestion: Some("lull_idle".to_owned()),
                knows_interval: true,
                why: "a congestion control of lull's own, which sends only what the foreground leaves"
                    .to_owned(),
            },
            Ok(Congestion::Kernel { name, why }) => Self {
                congestion: Some(name),
                knows_interval: false,
                why: format!("the kernel's, which knows no interval: {why}"),
            },
            Ok(Congestion::Unchanged { why }) => Self {
                congestion: Some("unchanged".to_owned()),
                knows_interval: false,
                why: format!("each socket keeps what it has: {why}"),
            },
            Err(error) => left_alone(error.to_string()),
        }
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page, facts: &Facts) {
        page.section("Network: how a job's traffic yields (lull run --resources disk,cpu,net)");
        let (tone, text) = match (&self.congestion, self.knows_interval) {
            (Some(name), true) => (Tone::Good, format!("{name}: {}", self.why)),
            (Some(name), false) => (Tone::Fair, format!("{name}: {}", self.why)),
            (None, _) => (Tone::Bad, format!("left as it is: {}", self.why)),
        };
        page.line("TCP", tone, &text);
        if self.congestion.is_some() {
            page.line(
                "mark",
                Tone::Good,
                "DSCP Lower Effort and the kernel's last priority, on every socket",
            );
            page.line("datagrams", Tone::Fair, "the job is held while the foreground sends");
        }
        for interface in facts.net.interfaces.iter().filter(|interface| !interface.loopback) {
            page.line(&interface.name, Tone::Plain, &describe(interface, self.congestion.is_some()));
        }
    }
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
