//! CPUs: sets of them, and which share a core.
//!
//! Two CPUs of one core (SMT siblings) share its units and its inner caches: work on one slows the other far more than work
//! on another core does. Those of one node share the memory that is near to it. Lists are written as the kernel writes them: `0-3,8`.
//!
//! Source: `Documentation/admin-guide/cputopology.rst`, `Documentation/ABI/stable/sysfs-devices-node`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::root::Root;

/// The largest CPU number that is believed: more than any kernel is built for.
const LAST: u32 = 65_535;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// The CPUs that are switched on.
    pub fn online(root: &Root) -> Self {
        root.read("/sys/devices/system/cpu/online").and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// None?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is this CPU one of them?
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if(|next| *next == last + 1) {
                last = next;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

/// A text that is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a list of CPUs; write one like 0-3,8")]
pub struct ParseCpusError(String);

impl FromStr for CpuSet {
    type Err = ParseCpusError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseCpusError(text.to_owned());
        let number = |text: &str| text.parse().ok().filter(|cpu: &u32| *cpu <= LAST).ok_or_else(fail);
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(fail());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

/// The cores that have CPUs among `cpus`, each with those; a CPU whose core is unknown is one of its own.
pub fn cores(root: &Root, cpus: &CpuSet) -> Vec<CpuSet> {
    let mut cores: Vec<CpuSet> = Vec::new();
    for cpu in cpus.iter() {
        if cores.iter().any(|core| core.contains(cpu)) {
            continue;
        }
        let list = |name: &str| root.read(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
        // The second is the first one's name before Linux 5.3.
        let text = list("core_cpus_list").or_else(|| list("thread_siblings_list"));
        let core: CpuSet = text.and_then(|text| text.parse().ok()).unwrap_or_default();
        let own = CpuSet::from_iter([cpu]);
        cores.push(if core.contains(cpu) { core.and(cpus) } else { own });
    }
    cores
}

/// The memory nodes that have CPUs among `cpus`, each with those; one of all where the kernel knows of none.
pub fn nodes(root: &Root, cpus: &CpuSet) -> Vec<CpuSet> {
    let online: Option<CpuSet> =
        root.read("/sys/devices/system/node/online").and_then(|text| text.parse().ok());
    let of = |node: u32| -> Option<CpuSet> {
        root.read(format!("/sys/devices/system/node/node{node}/cpulist"))?.parse().ok()
    };
    let mut nodes: Vec<CpuSet> =
        online.unwrap_or_default().iter().filter_map(of).map(|node| node.and(cpus)).collect();
    nodes.retain(|node| !node.is_empty());
    if nodes.is_empty() { vec![cpus.clone()] } else { nodes }
}

#[cfg(test)]
mod tests;
