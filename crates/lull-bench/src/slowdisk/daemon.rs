//! The process that serves the slow disk's file.
//!
//! ```text
//!  harness ── standard input (a leash) ──▶ daemon ── /dev/fuse ──▶ kernel
//!     │ ◀──────── "ready" line ───────────    │  own mount namespace: the mount is visible only here
//!     └─ opens /proc/DAEMON/root/MOUNT/disk, puts a loop device on it
//! ```
//! The mount lives in a namespace of the daemon's own, so it disappears with the process however that ends;
//! the loop device clears itself when its last user is gone. So `kill -9` of the daemon, of the harness or of
//! both leaves nothing behind. The daemon never touches its own mount (it would wait for itself), keeps its
//! memory locked (it must not wait for a disk that may wait for it) and, where it may, is exempt from the OOM
//! killer.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use fuser::{Config, Session, SessionACL};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::mman::{MlockAllFlags, mlockall};
use serde::{Deserialize, Serialize};

use super::model::Geometry;
use super::server::{FILE_NAME, Server};
use crate::error::Context;
use crate::units::Bytes;
use crate::{Error, clock};

/// Arguments of `load slow-disk-daemon`.
#[derive(Clone, Debug, clap::Args)]
pub struct DaemonArgs {
    /// Bytes on the disk [default: 8.2GB].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
}

impl DaemonArgs {
    /// The disk that these arguments describe. Sizes are whole pages.
    pub fn geometry(&self) -> Geometry {
        let default = Geometry::default();
        Geometry { size: self.size.map_or(default.size, |size| Bytes(size.0 / 4096 * 4096)), ..default }
    }
}

/// What the daemon says when its file can be opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    /// The file's path, within the daemon's mount namespace.
    pub(super) file: PathBuf,
    /// Protections that this user may not set up; the disk works without them.
    pub(super) unprotected: Vec<String>,
}

/// Serves until standard input is closed or a signal ends the process.
pub fn run_daemon(args: &DaemonArgs) -> Result<(), Error> {
    let server = Server::new(args.geometry())?;
    let unprotected = protect();
    clock::sharp_timers()?;

    let device_path = Path::new("/dev/fuse");
    let device = OpenOptions::new().read(true).write(true).open(device_path).at("open", device_path)?;
    unshare(CloneFlags::CLONE_NEWNS).to("make a mount namespace (the slow disk needs root)")?;
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
        .to("make the mount namespace private")?;
    let place =
        ["/mnt", "/tmp"].map(Path::new).into_iter().find(|p| p.is_dir()).unwrap_or_else(|| Path::new("/"));
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
    mount(Some("lull-slow-disk"), place, Some("fuse"), flags, Some(options.as_str()))
        .at("mount on", place)?;

    let session = Session::from_fd(server, OwnedFd::from(device), SessionACL::Owner, Config::default())
        .to("start the FUSE session")?;
    let ready = Ready { file: place.join(FILE_NAME), unprotected };
    let line = serde_json::to_string(&ready).map_err(std::io::Error::from).to("write the ready line")?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).to("write to standard output")?;
    drop(out);
    std::thread::spawn(|| {
        let mut rest = [0_u8; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(1..)) {}
        std::process::exit(0);
    });
    session.run().to("serve the FUSE session")
}

/// Locks memory and asks to be spared by the OOM killer; returns what was refused.
fn protect() -> Vec<String> {
    let mut refused = Vec::new();
    if let Err(error) = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE) {
        refused.push(format!("memory is not locked: {error}"));
    }
    if let Err(error) = fs::write("/proc/self/oom_score_adj", "-1000") {
        refused.push(format!("not exempt from the OOM killer: {error}"));
    }
    refused
}
