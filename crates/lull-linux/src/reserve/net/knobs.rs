//! What an interface is told while it is reserved, and what it was told before.
//!
//! | knob | while it is reserved | why |
//! |---|---|---|
//! | `gso_max_size` | a millisecond of its rate, if that is less | pieces: see [`super::pieces`] |
//! | `threaded` | 1, where the driver polls | protocols are handled by threads, which have a share of the CPU as everybody, and not before everybody; what they have no time for is dropped by the card, or by who sends, for nothing |
//!
//! Both are written down before they are turned ([`super::lock`]). `threaded` is a file of sysfs, which shows the interfaces of the network
//! namespace in which it was mounted: so it is mounted anew, where nobody sees it.
//!
//! Source: `Documentation/networking/napi.rst`, ip-link(8).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::pieces;

const LARGEST: &str = "gso_max_size";
const THREADED: &str = "threaded";

/// Of one interface: those that are turned, as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Knobs {
    largest_bytes: Option<u64>,
    threaded: Option<u64>,
}

impl Knobs {
    /// Those that are to be turned at this rate, as they are.
    pub(super) fn of(interface: &str, rate: u64) -> io::Result<Self> {
        let largest_bytes = pieces::largest_of(interface)?.filter(|had| *had > pieces::largest(rate));
        let threaded = read(interface).ok().filter(|had| *had == 0);
        Ok(Self { largest_bytes, threaded })
    }

    /// Turns them.
    pub(super) fn turn(self, interface: &str, rate: u64) -> io::Result<()> {
        if self.largest_bytes.is_some() {
            pieces::set_largest(interface, pieces::largest(rate))?;
        }
        if self.threaded.is_some() {
            // Drivers that do not poll have no threads.
            let _ = write(interface, 1);
        }
        Ok(())
    }

    /// Puts them back; the interface may be gone by now.
    pub(super) fn put_back(self, interface: &str) {
        if let Some(bytes) = self.largest_bytes {
            let _ = pieces::set_largest(interface, bytes);
        }
        if let Some(had) = self.threaded {
            let _ = write(interface, had);
        }
    }

    /// For the lock's file.
    pub(super) fn text(self) -> String {
        let line =
            |name, value: Option<u64>| value.map_or_else(String::new, |value| format!("{name} {value}\n"));
        line(LARGEST, self.largest_bytes) + &line(THREADED, self.threaded)
    }

    /// From the lock's file.
    pub(super) fn parse(text: &str) -> Self {
        let of = |name| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        Self { largest_bytes: of(LARGEST), threaded: of(THREADED) }
    }
}

/// Whether threads handle what comes.
pub(super) fn is_threaded(interface: &str) -> bool {
    read(interface).is_ok_and(|threaded| threaded == 1)
}

fn file(interface: &str, flags: OFlags) -> io::Result<File> {
    let fs = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(fs.as_fd())?;
    let sysfs = fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let path = format!("class/net/{interface}/{THREADED}");
    Ok(File::from(openat(&sysfs, path, flags | OFlags::CLOEXEC, Mode::empty())?))
}

fn read(interface: &str) -> io::Result<u64> {
    let mut text = String::new();
    file(interface, OFlags::RDONLY)?.read_to_string(&mut text)?;
    text.trim().parse().map_err(io::Error::other)
}

fn write(interface: &str, value: u64) -> io::Result<()> {
    write!(file(interface, OFlags::WRONLY)?, "{value}")
}

#[cfg(test)]
mod tests;
