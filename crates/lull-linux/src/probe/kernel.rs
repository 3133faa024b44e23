//! Which kernel runs.

use serde::Serialize;

use crate::root::Root;

/// The kernel's release, its numbers, and the tunables that later decisions rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: String,
    /// The first two numbers of the release; (0, 0) if it has none.
    pub version: (u32, u32),
    /// Pressure stall information: which of cpu, io and memory `/proc/pressure` has.
    pub pressure: Vec<String>,
}

impl Kernel {
    /// Reads `/proc`.
    pub fn read(root: &Root) -> Self {
        let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        // With psi=0 on the command line the files exist, but reading them fails.
        let readable = |name: &String| root.read(format!("/proc/pressure/{name}")).is_some();
        Self {
            version: version_of(&release),
            release,
            pressure: root.names("/proc/pressure").into_iter().filter(readable).collect(),
        }
    }

    /// Is this kernel `major.minor` or newer?
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        self.version >= (major, minor)
    }
}

fn version_of(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests;
