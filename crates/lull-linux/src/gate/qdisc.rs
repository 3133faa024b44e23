//! Two classes with strict priority in an interface's queue, for a run that the administrator allows that.
//!
//! ```text
//!   packets ──filter──▶ the rest           (prio 0) ──┐
//!               │                                     ├─▶ driver
//!               └─────▶ DSCP Lower Effort  (prio 7) ──┘   only when nothing else waits
//! ```
//! HTB does it, the one queueing discipline with priorities that nearly all kernels have. What it tells classes by is the mark, so
//! it serves every process and every run alike. With a rate it is the bottleneck itself, and has the queue that would
//! otherwise be in a modem or a switch behind it; without one its classes are always within their rates, so that priority alone
//! counts, and only where the driver pushes back.
//!
//! # Life
//! The arrangement replaces the queue that the kernel gave the interface, which comes back when it is deleted. One that somebody chose
//! (its handle is not 0) is left alone: that is an error. Its own handle tells lull's arrangement. A file with a lock
//! says who uses it:
//!
//! ```text
//!            exclusive lock                      shared lock, inherited by lull's processes
//!   free ──────────────────────▶ being made ───────────────────────────────────────────┐
//!     ▲                                                                                 ▼
//!     └──────── deleted ◀──── exclusive lock: nobody else uses it ◀──── release() ──── in use
//! ```
//! A lock goes with the last process that holds it. If all are killed, [`sweep`] of the next start deletes what is left. The file holds
//! the rate in kilobits per second, if there is one: a run that names another is refused.
//!
//! Needs CAP_NET_ADMIN and `tc`. Units: kilobits per second, bytes. Source: tc-htb(8), tc-u32(8), flock(2).

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::net::if_::{if_indextoname, if_nametoindex};

mod plan;

pub use plan::{QdiscPlan, default_route_interfaces, each_once, rate_text};

/// Where `ip` and `tc` are, also for users whose path leaves that out.
const TOOLS: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";
/// Of lull's arrangement, as tc shows it. Nobody gets it by chance: the kernel's own begin at 8001.
const HANDLE: &str = "1077:";
/// Where the locks are.
pub(crate) const LOCKS: &str = "/run/lull";
/// What the kernel's own choice has.
const NO_HANDLE: &str = "0:";
/// Kinds that the foreground's class keeps if the interface had them.
const KEPT: [&str; 4] = ["fq_codel", "fq", "fq_pie", "sfq"];
/// What a class has otherwise: as many packets as most devices.
const PLAIN: &str = "pfifo limit 1000";
/// More than any link: all that is sent is within it.
const NO_LIMIT_KBIT: u64 = 100_000_000;
/// What may leave at once without a limit.
const NO_LIMIT_BURST_BYTES: u64 = 1 << 20;
/// With a rate, as time at it: less, and a late timer costs rate.
const BURST_US: u64 = 1_000;
/// … and at least some packets with segmentation offload.
const LEAST_BURST_BYTES: u64 = 128 << 10;
/// A race between a run that ends and one that begins is over after one more look.
const TRIES: u32 = 10;

/// Why an interface has no two classes.
#[derive(Debug, thiserror::Error)]
pub enum QdiscError {
    /// There is no such interface.
    #[error("--qdisc: no interface '{interface}' here; `ip link` lists them")]
    NoInterface {
        /// As it was named.
        interface: String,
    },
    /// Somebody has arranged its queue.
    #[error(
        "--qdisc: the queue of '{interface}' is arranged already ({kind} {handle}), which lull leaves alone; leave --qdisc out, or delete that with `tc qdisc del dev {interface} root`"
    )]
    Arranged {
        /// The interface.
        interface: String,
        /// What it has.
        kind: String,
        /// By which tc tells it.
        handle: String,
    },
    /// Another run has given it another rate.
    #[error(
        "--qdisc: a run has arranged the queue of '{interface}' {there}, so {} cannot be had; give the same rate, or none", rate_text(*wanted_kbit)
    )]
    OtherRate {
        /// The interface.
        interface: String,
        /// As that run has it.
        there: String,
        /// What was asked for.
        wanted_kbit: u64,
    },
    /// A lock cannot be had.
    #[error("--qdisc: cannot lock {}: {cause}; it needs root", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The system's answer. Part of the message, so not a source that a report would print again.
        cause: io::Error,
    },
    /// `tc` failed.
    #[error("--qdisc: {command}: {problem}")]
    Tool {
        /// As it was run.
        command: String,
        /// In its own words.
        problem: String,
    },
}

/// A configuring command of iproute2, given as words with single blanks.
pub fn tool(words: &str) -> Command {
    let mut parts = words.split(' ');
    let mut command = Command::new(parts.next().unwrap_or_default());
    command.args(parts).env("PATH", TOOLS).stdin(Stdio::null());
    command
}

/// Runs such a command; what it printed, or what it complained about, in one line.
///
/// # Errors
/// When it cannot be run, or fails.
pub fn run_tool(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
    }
}

fn run(words: &str) -> Result<String, QdiscError> {
    let failed = |problem| QdiscError::Tool { command: words.to_owned(), problem };
    run_tool(tool(words)).map_err(failed)
}

/// The root of an interface's queue: kind and handle.
pub(crate) fn root_of(interface: &str) -> Result<(String, String), QdiscError> {
    let shown = run(&format!("tc qdisc show dev {interface} root"))?;
    Ok(parse_root(&shown).unwrap_or_else(|| ("noqueue".to_owned(), NO_HANDLE.to_owned())))
}

/// From the first line of `tc qdisc show`.
fn parse_root(shown: &str) -> Option<(String, String)> {
    let mut words = shown.lines().next()?.split_whitespace();
    (words.next()? == "qdisc").then_some(())?;
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

/// The arrangement on one interface, in use by this process and those that inherit the descriptor of the lock.
#[derive(Debug)]
pub struct TwoClasses {
    interface: String,
    path: PathBuf,
    lock: File,
    rate_kbit: Option<u64>,
}

impl TwoClasses {
    /// Puts it on, or joins the runs that use it already.
    ///
    /// # Errors
    /// When the interface is not there or has an arrangement of its own or another rate, without root, or when tc refuses.
    pub fn put_on(plan: &QdiscPlan) -> Result<Self, QdiscError> {
        let interface = plan.interface.clone();
        let Ok(index) = if_nametoindex(interface.as_str()) else {
            return Err(QdiscError::NoInterface { interface });
        };
        let path = Path::new(LOCKS).join(lock_name(own_namespace(), index));
        let failed = |cause| QdiscError::Lock { path: path.clone(), cause };
        for _ in 0..TRIES {
            fs::create_dir_all(LOCKS).map_err(failed)?;
            let lock = match File::options().create(true).append(true).read(true).open(&path) {
                Ok(lock) => lock,
                // The directory goes with the last lock.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            let rate_kbit = plan.rate_kbit;
            let mut this = Self { interface: interface.clone(), path: path.clone(), lock, rate_kbit };
            let alone = this.flock(libc::LOCK_EX | libc::LOCK_NB).is_ok();
            if !alone {
                // Whoever makes or deletes it has it for a moment only.
                this.flock(libc::LOCK_SH).map_err(failed)?;
            }
            if !this.is_current() {
                continue;
            }
            if alone {
                let made = this.make().and_then(|()| this.note_rate().map_err(failed));
                if made.is_err() {
                    this.unname();
                }
                made?;
                this.flock(libc::LOCK_SH).map_err(failed)?;
                return Ok(this);
            }
            if root_of(&interface)?.1 == HANDLE {
                this.rate_kbit = this.noted_rate();
                let checked = this.check_rate(plan.rate_kbit);
                if checked.is_err() {
                    // The others may have ended meanwhile, and left it to this one.
                    this.release();
                }
                return checked.map(|()| this);
            }
        }
        Err(failed(io::ErrorKind::ResourceBusy.into()))
    }

    /// Replaces the kernel's own queue.
    fn make(&self) -> Result<(), QdiscError> {
        let (kind, handle) = root_of(&self.interface)?;
        if handle != NO_HANDLE && handle != HANDLE {
            return Err(QdiscError::Arranged { interface: self.interface.clone(), kind, handle });
        }
        if handle == HANDLE {
            self.delete();
        }
        let leaf = if KEPT.contains(&kind.as_str()) { kind } else { PLAIN.to_owned() };
        let (rate_kbit, burst_bytes) = match self.rate_kbit {
            None => (NO_LIMIT_KBIT, NO_LIMIT_BURST_BYTES),
            Some(rate) => (rate, (rate * BURST_US / 8_000).max(LEAST_BURST_BYTES)),
        };
        let commands = arrangement(&self.interface, HANDLE, rate_kbit, burst_bytes, &leaf);
        let made = commands.iter().try_for_each(|words| run(words).map(drop));
        made.inspect_err(|_| self.delete())
    }

    /// Says to those who come later how fast it is. For whoever has made it.
    fn note_rate(&self) -> io::Result<()> {
        self.lock.set_len(0)?;
        let text = self.rate_kbit.map(|rate| rate.to_string()).unwrap_or_default();
        (&self.lock).write_all(text.as_bytes())
    }

    fn noted_rate(&self) -> Option<u64> {
        fs::read_to_string(&self.path).ok()?.parse().ok()
    }

    fn check_rate(&self, wanted_kbit: Option<u64>) -> Result<(), QdiscError> {
        let Some(wanted_kbit) = wanted_kbit.filter(|wanted| self.rate_kbit != Some(*wanted)) else {
            return Ok(());
        };
        let there = self
            .rate_kbit
            .map_or_else(|| "without a rate".to_owned(), |rate| format!("at {}", rate_text(rate)));
        Err(QdiscError::OtherRate { interface: self.interface.clone(), there, wanted_kbit })
    }

    /// What may leave it per second; `None`: what the driver takes.
    pub const fn rate_kbit(&self) -> Option<u64> {
        self.rate_kbit
    }

    /// The interface it is on.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The lock: whoever has this descriptor uses the arrangement.
    pub fn lock_fd(&self) -> RawFd {
        self.lock.as_raw_fd()
    }

    /// Takes it off unless another run uses it; whether it is off. For the last of the processes that share the lock; more than once
    /// does no harm.
    pub fn release(&self) -> bool {
        if self.flock(libc::LOCK_EX | libc::LOCK_NB).is_err() {
            return false;
        }
        if self.is_current() {
            if root_of(&self.interface).is_ok_and(|(_, handle)| handle == HANDLE) {
                self.delete();
            }
            self.unname();
        }
        let _ = self.flock(libc::LOCK_UN);
        true
    }

    /// Removes the lock's file, and the directory if that was the last.
    fn unname(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir(LOCKS);
    }

    fn delete(&self) {
        // The interface may be gone.
        let _ = run(&format!("tc qdisc del dev {} root", self.interface));
    }

    fn flock(&self, operation: libc::c_int) -> io::Result<()> {
        // SAFETY: plain integers.
        let outcome = unsafe { libc::flock(self.lock.as_raw_fd(), operation) };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether the lock is still the one that others find.
    fn is_current(&self) -> bool {
        let id = |found: fs::Metadata| (found.dev(), found.ino());
        match (self.lock.metadata(), fs::metadata(&self.path)) {
            (Ok(held), Ok(found)) => id(held) == id(found),
            _ => false,
        }
    }
}

/// The commands of `tc` that give a device without a root of its own the two classes; `least` is a hundredth of the rate, which Lower
/// Effort keeps.
pub fn arrangement(
    interface: &str,
    handle: &str,
    rate_kbit: u64,
    burst_bytes: u64,
    leaf: &str,
) -> Vec<String> {
    let least = (rate_kbit / 100).max(1);
    let burst = format!("burst {burst_bytes} cburst {burst_bytes}");
    let class = |parent: &str, minor: u32, rate: u64, prio: u32| {
        format!(
            "tc class add dev {interface} parent {handle}{parent} classid {handle}{minor} htb rate {rate}kbit ceil {rate_kbit}kbit prio {prio} quantum 60000 {burst}"
        )
    };
    let mut commands = vec![
        format!("tc qdisc add dev {interface} root handle {handle} htb default 10"),
        class("", 1, rate_kbit, 0),
        class("1", 10, (rate_kbit - least).max(1), 0),
        class("1", 20, least, 7),
    ];
    for minor in [10, 20] {
        commands.push(format!("tc qdisc add dev {interface} parent {handle}{minor} {leaf}"));
    }
    // DSCP 1 in the upper six bits of the field.
    for (protocol, field) in [("ip", "ip dsfield"), ("ipv6", "ip6 priority")] {
        commands.push(format!(
            "tc filter add dev {interface} parent {handle} protocol {protocol} u32 match {field} 0x04 0xfc flowid {handle}20"
        ));
    }
    commands
}

/// Deletes arrangements that killed runs left in this network namespace.
pub fn sweep() {
    let namespace = own_namespace();
    for entry in fs::read_dir(LOCKS).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((of, index)) = name.to_str().and_then(parse_lock_name) else { continue };
        if of != namespace {
            continue;
        }
        let Ok(lock) = File::options().append(true).open(entry.path()) else { continue };
        let interface = if_indextoname(index).map(|name| name.to_string_lossy().into_owned());
        // Without the interface there is nothing to delete but the lock.
        let interface = interface.unwrap_or_default();
        TwoClasses { interface, path: entry.path(), lock, rate_kbit: None }.release();
    }
}

pub(crate) fn own_namespace() -> u64 {
    // The calling thread's may be another than the process's.
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |found| found.ino())
}

fn lock_name(namespace: u64, index: u32) -> String {
    format!("qdisc-{namespace}-{index}")
}

fn parse_lock_name(name: &str) -> Option<(u64, u32)> {
    let (namespace, index) = name.strip_prefix("qdisc-")?.split_once('-')?;
    Some((namespace.parse().ok()?, index.parse().ok()?))
}

#[cfg(test)]
mod tests;
