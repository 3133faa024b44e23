//! Who asks: identity, capabilities and resource limits.
//!
//! Capabilities are read from `/proc/self/status`, because inside a container root is often without those that matter.

use nix::sys::resource::{Resource, getrlimit};
use serde::Serialize;

use crate::proc::field;
use crate::root::Root;

/// Capabilities that lull asks for somewhere, with their bit numbers (`include/uapi/linux/capability.h`).
const CAPABILITIES: [(&str, u32); 10] = [
    ("CAP_DAC_READ_SEARCH", 2),
    ("CAP_KILL", 5),
    ("CAP_NET_ADMIN", 12),
    ("CAP_NET_RAW", 13),
    ("CAP_SYS_PTRACE", 19),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_NICE", 23),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// A soft and a hard limit; `None` is unlimited. In bytes or counts, as the resource defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The limit's name without `RLIMIT_`, in lower case.
    pub name: &'static str,
    /// The limit in force.
    pub soft: Option<u64>,
    /// How far it may be raised.
    pub hard: Option<u64>,
}

/// Identity and rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UserFacts {
    /// Real user.
    pub uid: u32,
    /// Effective user.
    pub euid: u32,
    /// The effective ones of those that lull may use.
    pub capabilities: Vec<&'static str>,
    /// Those that lull may use and that are missing.
    pub missing_capabilities: Vec<&'static str>,
    /// Does a process here run under no_new_privs already?
    pub no_new_privs: bool,
    /// Resource limits that bear on lull or its job.
    pub limits: Vec<Limit>,
}

impl UserFacts {
    /// Reads the rights of this process.
    pub fn read(root: &Root) -> Self {
        let status = root.read("/proc/self/status").unwrap_or_default();
        let mask = field(&status, "CapEff").and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
        let (have, lack): (Vec<_>, Vec<_>) = CAPABILITIES.iter().partition(|(_, bit)| mask >> bit & 1 == 1);
        let names = |list: Vec<(&'static str, u32)>| list.into_iter().map(|(name, _)| name).collect();
        Self {
            uid: nix::unistd::getuid().as_raw(),
            euid: nix::unistd::geteuid().as_raw(),
            capabilities: names(have),
            missing_capabilities: names(lack),
            no_new_privs: field(&status, "NoNewPrivs") == Some("1"),
            limits: limits(),
        }
    }

    /// Is the capability effective?
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains(&capability)
    }
}

fn limits() -> Vec<Limit> {
    let wanted = [
        ("memlock", Resource::RLIMIT_MEMLOCK),
        ("nofile", Resource::RLIMIT_NOFILE),
        ("nproc", Resource::RLIMIT_NPROC),
        ("nice", Resource::RLIMIT_NICE),
    ];
    let finite = |value| (value != nix::sys::resource::RLIM_INFINITY).then_some(value);
    let read = |(name, resource)| {
        let (soft, hard) = getrlimit(resource).ok()?;
        Some(Limit { name, soft: finite(soft), hard: finite(hard) })
    };
    wanted.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests;
