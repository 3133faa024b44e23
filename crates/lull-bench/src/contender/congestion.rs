//! The kernel's congestion controls as contenders: only those that it has.

use std::fs;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Why a socket cannot have this one; none if it can. The kernel loads a module for it if root asks and there
/// is one.
pub fn obstacle(name: &str) -> Option<String> {
    let asked = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .and_then(|socket| setsockopt(&socket, sockopt::TcpCongestion, &name.to_owned().into()));
    let error = asked.err()?;
    let has = fs::read_to_string(AVAILABLE).unwrap_or_default();
    Some(match error {
        Errno::ENOENT => {
            format!("this kernel has no congestion control '{name}'; it has {}", has.trim())
        }
        other => format!("cannot use the congestion control '{name}': {other}"),
    })
}

#[cfg(test)]
mod tests;
