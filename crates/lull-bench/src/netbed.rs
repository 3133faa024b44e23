//! A network of our own: two hosts and a link between them, in network namespaces.
//!
//! The problem: what background traffic costs can only be measured on a link that is full, with a known rate
//! and a known delay, and measurements may not touch the machine's own network. So two namespaces are made
//! and joined:
//!
//! ```text
//!   no delay                                        with a delay each way
//!
//!   ┌ left ────────┐      ┌ right ───────┐          ┌ left ────────┐            ┌ right ───────┐
//!   │ net0 ─ shape ┼─veth─┼ shape ─ net0 │          │ net0 ─ shape ┼┐          ┌┼ shape ─ net0 │
//!   └──────────────┘      └──────────────┘          └──────────────┘│ relay    │└──────────────┘
//!                                                              TUN  └─▶ wait ──┘ TUN
//! ```
//! Each sender's queue is a token bucket of the link's rate ([`Queue`]), so that the queue of the link is
//! where a real host has it: between its stack and its device. The delay is made by a thread that holds
//! packets ([`delay`]); netem, which many kernels lack, is not needed.
//!
//! Nothing has a name outside: namespaces and TUN devices are held by descriptors of this process alone, a
//! veth pair by its namespaces. All of it goes with the process, however that ends. Programs started inside
//! ([`Host::command`]) keep their namespace alive for as long as they run.
//!
//! Segmentation offload is off, so that one packet in the queue is one packet on the wire.
//!
//! `ip` and `tc` do the configuring: they are on every machine with a network, say in words what they refuse,
//! and netlink crates know few queueing disciplines.
//!
//! | part | idea |
//! |---|---|
//! | [`namespace`] | a network namespace held by a descriptor |
//! | [`delay`] | the relay between two TUN devices |
//!
//! Units: rates in megabits per second, times in nanoseconds, sizes in bytes.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;

use lull_core::Nanos;
use lull_linux::gate::qdisc::arrangement;

use crate::Error;
use crate::process::words;

pub mod delay;
pub mod namespace;

pub use namespace::Namespace;

use delay::Relay;

/// The device of each host.
pub const DEVICE: &str = "net0";
/// What a token bucket may send at once, as time at its rate: more and the link is not smooth, less and a
/// late timer of a virtual machine costs rate.
const BURST: Nanos = Nanos::from_micros(250);
/// … but so many packets at least.
const BURST_PACKETS: u64 = 3;
/// Of the queue with two classes.
const HANDLE: &str = "1:";
/// One more address of the right host, see [`Bed::add_background_address`].
const BACKGROUND: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 12);
/// Of a packet with its link header.
const FRAME_BYTES: u64 = 1514;

/// How a host's packets wait for the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// One queue for all.
    #[default]
    Shared,
    /// Two strict priorities by HTB: what carries DSCP Lower Effort goes after the rest, and keeps a
    /// hundredth of the rate.
    LowerEffortLast,
}

/// What the link is like, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// Megabits per second.
    pub rate_mbit: u32,
    /// One way.
    pub delay: Nanos,
    /// Bytes that may wait.
    pub queue_bytes: u64,
    /// In which order.
    pub queue: Queue,
}

impl LinkPlan {
    /// A link of this rate without delay, with room for 1,000 packets, as most devices have.
    pub const fn of_rate(rate_mbit: u32) -> Self {
        Self { rate_mbit, delay: Nanos::ZERO, queue_bytes: 1_000 * FRAME_BYTES, queue: Queue::Shared }
    }

    /// The same link with a delay each way.
    #[must_use]
    pub const fn with_delay(self, delay: Nanos) -> Self {
        Self { delay, ..self }
    }

    /// The same link with another order.
    #[must_use]
    pub const fn with_queue(self, queue: Queue) -> Self {
        Self { queue, ..self }
    }

    fn burst_bytes(&self) -> u64 {
        let at_rate = u64::from(self.rate_mbit) * BURST.0 / 8_000;
        at_rate.max(BURST_PACKETS * FRAME_BYTES)
    }
}

/// One end of the link.
#[derive(Debug)]
pub struct Host {
    namespace: Namespace,
    v4: Ipv4Addr,
    v6: Ipv6Addr,
}

impl Host {
    /// Where it lives.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Its IPv4 address.
    pub fn v4(&self) -> IpAddr {
        self.v4.into()
    }

    /// Its IPv6 address.
    pub fn v6(&self) -> IpAddr {
        self.v6.into()
    }

    /// What comes before a command line that is to run here.
    pub fn entering(&self) -> Vec<OsString> {
        words(&format!("nsenter --net={} --", self.namespace.path()))
    }

    /// A program that will run here.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.namespace.confine(&mut command);
        command
    }

    /// Runs `ip` or `tc` here.
    fn configure(&self, words: &str) -> Result<(), Error> {
        self.namespace.configure(words)
    }

    /// Gives the device its addresses and its queue, and starts it.
    fn start(&self, plan: &LinkPlan) -> Result<(), Error> {
        self.configure("ip link set lo up")?;
        self.configure(&format!("ip link set {DEVICE} gso_max_segs 1 up"))?;
        self.configure(&format!("ip addr add {}/24 dev {DEVICE}", self.v4))?;
        // Duplicate address detection would keep the address unusable for a second.
        self.configure(&format!("ip -6 addr add {}/64 dev {DEVICE} nodad", self.v6))?;
        self.shape(plan)
    }

    fn shape(&self, plan: &LinkPlan) -> Result<(), Error> {
        let LinkPlan { rate_mbit: rate, queue_bytes, .. } = *plan;
        let burst = plan.burst_bytes();
        if plan.queue == Queue::Shared {
            return self.configure(&format!(
                "tc qdisc add dev {DEVICE} root tbf rate {rate}mbit burst {burst} limit {queue_bytes}"
            ));
        }
        let leaf = format!("bfifo limit {queue_bytes}");
        let commands = arrangement(DEVICE, HANDLE, u64::from(rate) * 1_000, burst, &leaf);
        commands.iter().try_for_each(|words| self.configure(words))
    }
}

/// The network: `left` and `right`, and what joins them.
#[derive(Debug)]
pub struct Bed {
    /// Where loads usually run.
    pub left: Host,
    /// Where they are received.
    pub right: Host,
    relay: Option<Relay>,
    queue: Queue,
}

impl Bed {
    /// Makes the network.
    ///
    /// # Errors
    /// When the kernel or a tool refuses a part, in its own words.
    pub fn build(plan: &LinkPlan) -> Result<Self, Error> {
        let host = |last: u8| -> Result<Host, Error> {
            Ok(Host {
                namespace: Namespace::new()?,
                v4: Ipv4Addr::new(10, 77, 0, last),
                v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, last.into()),
            })
        };
        let (left, right) = (host(1)?, host(2)?);
        let relay = if plan.delay == Nanos::ZERO {
            left.configure(&format!(
                "ip link add {DEVICE} type veth peer name {DEVICE} netns {}",
                right.namespace.path()
            ))?;
            None
        } else {
            Some(Relay::start(&left.namespace, &right.namespace, DEVICE, plan.delay)?)
        };
        left.start(plan)?;
        right.start(plan)?;
        Ok(Self { left, right, relay, queue: plan.queue })
    }

    /// Gives the right host one more address, for what is background there although it does not say so:
    /// connections of the left one to it have this congestion control, if one is named, and where there are
    /// two classes they go last.
    ///
    /// # Errors
    /// When the kernel or a tool refuses a part, in its own words.
    pub fn add_background_address(&self, congestion: Option<&str>) -> Result<IpAddr, Error> {
        let address = IpAddr::from(BACKGROUND);
        self.right.configure(&format!("ip addr add {address}/24 dev {DEVICE}"))?;
        if let Some(name) = congestion {
            self.left.configure(&format!("ip route add {address}/32 dev {DEVICE} congctl {name}"))?;
        }
        if self.queue == Queue::LowerEffortLast {
            self.left.configure(&format!(
                "tc filter add dev {DEVICE} parent {HANDLE} protocol ip u32 match ip dst {address}/32 flowid {HANDLE}20"
            ))?;
        }
        Ok(address)
    }

    /// Whether the relay still carries packets; true without one.
    pub fn is_up(&self) -> bool {
        self.relay.as_ref().is_none_or(Relay::is_up)
    }
}

/// Why a network cannot be had here; `None` if it can.
pub fn obstacle() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some(
            "the test network needs root (namespaces, queueing disciplines); run as root".to_owned(),
        );
    }
    let plan = LinkPlan::of_rate(100);
    Bed::build(&plan).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests;
