//! Network interfaces, and what TCP offers for background traffic.
//!
//! Interfaces are those of this process's network namespace, in the kernel's order. Congestion controls are those that the
//! kernel has at hand; more may exist as modules.
//!
//! Source: netdevice(7), `Documentation/networking/ip-sysctl.rst`.

use std::net::IpAddr;

use nix::net::if_::{InterfaceFlags, if_nametoindex};
use serde::Serialize;

use crate::root::Root;

/// The kernel's congestion controls that yield to others, the most yielding first; Reno is everywhere.
const YIELDING: [&str; 3] = ["lp", "vegas", "reno"];

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceFacts {
    /// As `ip link` shows it.
    pub name: String,
    /// Its number, unique in its namespace.
    pub index: u32,
    /// Is it switched on?
    pub up: bool,
    /// Does it lead nowhere but to this host?
    pub loopback: bool,
    /// The length of its queue in packets, 0 for none.
    pub queue_packets: Option<u32>,
}

/// What there is of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NetFacts {
    /// All interfaces.
    pub interfaces: Vec<InterfaceFacts>,
    /// TCP congestion controls at hand.
    pub congestion_controls: Vec<String>,
}

impl NetFacts {
    /// Reads them.
    pub fn read(root: &Root) -> Self {
        let available = root.read("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        Self {
            interfaces: interfaces(root),
            congestion_controls: available.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// The congestion control at hand that yields most.
    pub fn most_yielding(&self) -> Option<&str> {
        YIELDING.into_iter().find(|name| self.congestion_controls.iter().any(|known| known == name))
    }
}

/// The interfaces of this process's network namespace; none if the kernel does not tell.
pub fn interfaces(root: &Root) -> Vec<InterfaceFacts> {
    let mut found: Vec<InterfaceFacts> = Vec::new();
    // One entry per address; each interface has one of its own kind, with or without others.
    for entry in nix::ifaddrs::getifaddrs().into_iter().flatten() {
        let name = entry.interface_name;
        if found.iter().any(|known| known.name == name) {
            continue;
        }
        // It may have vanished since.
        let Ok(index) = if_nametoindex(name.as_str()) else { continue };
        found.push(InterfaceFacts {
            index,
            up: entry.flags.contains(InterfaceFlags::IFF_UP),
            loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
            queue_packets: root.number(format!("/sys/class/net/{name}/tx_queue_len")),
            name,
        });
    }
    found
}

/// Whether an interface of this host has this address.
pub fn has_address(wanted: IpAddr) -> bool {
    nix::ifaddrs::getifaddrs().into_iter().flatten().filter_map(|entry| entry.address).any(|found| {
        let v4 = found.as_sockaddr_in().map(|found| IpAddr::V4(found.ip()));
        v4.or_else(|| found.as_sockaddr_in6().map(|found| IpAddr::V6(found.ip())))
            == Some(wanted.to_canonical())
    })
}

#[cfg(test)]
mod tests;
