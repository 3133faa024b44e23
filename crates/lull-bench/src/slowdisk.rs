//! A block device that behaves like a spinning disk: about 20 ms per random access, one request at a time.
//!
//! The problem: most machines that build and test this have no slow disk, and the preemption interval matters
//! most on one. A sleep in a load generator would not do: requests must queue in the real block layer, where
//! schedulers, sensors and gates are. So a FUSE file with a service-time model stands behind a loop device:
//!
//! ```text
//!   reader ──▶ /dev/loopN ──▶ block layer, scheduler ──▶ loop (direct I/O) ──▶ FUSE ──▶ daemon: model, sleep, reply
//! ```
//! | part | idea |
//! |---|---|
//! | [`model`] | service times, pure |
//! | [`server`] | the FUSE file system |
//! | [`daemon`] | the process around it |
//! | [`loopdev`] | the loop device |
//!
//! Needs root, `/dev/fuse` and loop devices.

use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Context;
use crate::process::{Options, Proc, Program, lines};
use crate::units::Bytes;
use crate::{Error, stop};

pub mod daemon;
pub mod loopdev;
pub mod model;
pub mod server;

pub use daemon::{DaemonArgs, run_daemon};
pub use loopdev::LoopDevice;

/// How long the daemon has to mount and answer.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Arguments of `load slow-disk`.
#[derive(Clone, Debug, clap::Args)]
pub struct AttachArgs {
    /// Bytes on the disk [default: 8.2GB].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
}

/// Why the slow disk cannot be had here; `None` if it can.
pub fn obstacle() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("the slow disk needs root (mount, loop devices); run as root".to_owned());
    }
    ["/dev/fuse", "/dev/loop-control"].into_iter().find(|path| !Path::new(path).exists()).map(|path| {
        format!("{path} does not exist; load the module ('modprobe fuse', 'modprobe loop') or enable it in the kernel")
    })
}

/// A running slow disk; detached, unmounted and ended when dropped.
#[derive(Debug)]
pub struct SlowDisk {
    // Dropped first: the device is detached while its server still answers.
    device: LoopDevice,
    daemon: Proc,
    unprotected: Vec<String>,
}

impl SlowDisk {
    /// Starts the daemon (`<program> load slow-disk-daemon`) and puts a loop device on its file.
    pub fn start(program: &Program, size: Option<Bytes>) -> Result<Self, Error> {
        if let Some(detail) = obstacle() {
            return Err(Error::Unmet { what: "slow disk".to_owned(), detail });
        }
        let mut args = vec!["slow-disk-daemon".to_owned()];
        if let Some(size) = size {
            args.extend(["--size".to_owned(), size.0.to_string()]);
        }
        let options = Options { leash: true, ..Options::default() };
        let (mut daemon, stdout) = Proc::spawn(&program.load_argv(&args), options)?;
        let Ok(line) = lines(stdout).recv_timeout(START_LIMIT) else {
            daemon.stop()?;
            return Err(daemon.failed("it did not become ready"));
        };
        let ready: daemon::Ready =
            serde_json::from_str(&line).map_err(|_| daemon.failed(&format!("unexpected output '{line}'")))?;
        let inside = ready.file.strip_prefix("/").unwrap_or(&ready.file);
        let file_path = PathBuf::from(format!("/proc/{}/root", daemon.pid())).join(inside);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_DIRECT)
            .open(&file_path)
            .at("open", &file_path)?;
        let device = LoopDevice::attach(file.as_fd())?;
        Ok(Self { device, daemon, unprotected: ready.unprotected })
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        self.device.path()
    }

    /// `loopN`.
    pub fn name(&self) -> String {
        self.device.name()
    }

    /// The daemon's process id.
    pub fn daemon(&self) -> nix::unistd::Pid {
        self.daemon.pid()
    }

    /// Protections that the daemon could not get.
    pub fn unprotected(&self) -> &[String] {
        &self.unprotected
    }
}

/// Runs a slow disk until a signal comes: prints the device's name first.
pub fn run_attached(args: &AttachArgs) -> Result<(), Error> {
    let exe = Path::new("/proc/self/exe");
    let program = Program::new(exe.read_link().at("read", exe)?);
    let disk = SlowDisk::start(&program, args.size)?;
    println!("{}", disk.path().display());
    for note in disk.unprotected() {
        eprintln!("note: {note}");
    }
    while !stop::requested() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
