//! `lull reserve mount` and `unmount`, and the life of the process between them.
//!
//! ```text
//!   mount ──starts──▶ lull-reserve: groups, mount ──"ready"──▶ mount returns
//!                        │ serves
//!      unmount, umount ──┤ the mount table changes, the kernel ends the session
//!      SIGTERM           ┤
//!                        ▼ processes back, groups away, exit
//! ```
//!
//! Killed by SIGKILL it leaves its groups and a mount that answers ENOTCONN at once: `unmount`, and the next `mount`, clear both away.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use fuser::{Config, Session, SessionACL};
use lull_linux::gate::qdisc::QdiscPlan;
use lull_linux::probe::{CgroupFacts, Facts};
use lull_linux::reserve::{Enforcement, sweep};
use lull_linux::root::Root;
use lull_linux::sense::forks::{Change, Forks};
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount as mount_fs, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, geteuid, setsid};

use super::find::{self, Mounted};
use super::net;
use super::serve::{Files, Shared};
use super::state::State;

/// What the serving process says when all is there.
const READY: &str = "ready";
/// How long the serving process may take to put everything back.
const END_LIMIT: Duration = Duration::from_secs(30);
/// How often it is looked whether a queue in use has become empty.
const COLLECT_PAUSE: Duration = Duration::from_secs(1);

/// Arguments of `lull reserve mount`.
#[derive(Debug, Args)]
pub(super) struct MountArgs {
    /// Where: a directory, made if it is not there.
    #[arg(value_name = "DIR", default_value = "/reserv")]
    point: PathBuf,

    /// Share what leaves this interface, at this rate: eth0:100mbit. Repeatable.
    ///
    /// The rate is what the line carries, or a little less: what is sent beyond it waits here, where it can be shared, and not in a modem.
    /// What comes for a socket that cannot take it is dropped early, and is handled in threads where the driver can: "input" in docs/reserve.md.
    #[arg(long, value_name = "IFACE:RATE")]
    net: Vec<QdiscPlan>,

    /// Let threads be in queues of their own on cgroup v2, too, at the price that memory cannot be reserved there.
    #[arg(long)]
    threads: bool,

    /// Stay in the foreground, and write the log to standard error as well: for a service manager.
    #[arg(long)]
    foreground: bool,

    /// Say when it is ready, then let go of the standard streams.
    #[arg(long, hide = true, conflicts_with = "foreground")]
    serve: bool,
}

/// Arguments of `lull reserve unmount`.
#[derive(Debug, Args)]
pub(super) struct UnmountArgs {
    /// Where.
    #[arg(value_name = "DIR", default_value = "/reserv")]
    point: PathBuf,

    /// Unmount although files in it are open: they give errors from then on.
    ///
    /// Without it nothing changes while somebody uses the mount.
    #[arg(long)]
    lazy: bool,
}

fn needs_root(what: &str) -> anyhow::Result<()> {
    if !geteuid().is_root() {
        bail!("lull reserve {what} needs root: it makes control groups for everybody; use sudo");
    }
    Ok(())
}

/// Mounts, and returns when the tree can be used; in the foreground, when it was unmounted.
pub(super) fn mount(args: &MountArgs) -> anyhow::Result<()> {
    needs_root("mount")?;
    if let Some(before) = find::at(&args.point) {
        if before.is_served() {
            bail!(
                "{}: reservations are mounted there already, by process {}",
                args.point.display(),
                before.pid
            );
        }
        clear_dead(&before)?;
    }
    let is_new = !args.point.exists();
    fs::create_dir_all(&args.point).with_context(|| format!("cannot make {}", args.point.display()))?;
    let point = args.point.canonicalize().with_context(|| format!("cannot use {}", args.point.display()))?;
    refuse_what_would_be_hidden(&point)?;
    if args.foreground || args.serve {
        return serve(&point, args);
    }
    let mut child = Command::new(std::env::current_exe().context("cannot find this program")?)
        .args(["reserve", "mount", "--serve"])
        .args(net::options(&args.net))
        .args(args.threads.then_some("--threads"))
        .arg(&point)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the process that serves the reservations")?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).context("cannot hear whether it is mounted")?;
    }
    if line.trim_end() != READY {
        // It has said why.
        let status = child.wait().context("cannot wait for the process that serves the reservations")?;
        if is_new {
            // Nobody else knows of it yet.
            let _ = fs::remove_dir(&point);
        }
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// A mount hides what is in its directory, which may be the whole machine, or other reservations.
fn refuse_what_would_be_hidden(point: &Path) -> anyhow::Result<()> {
    let mut inside =
        fs::read_dir(point).with_context(|| format!("{} is no directory to mount at", point.display()))?;
    if inside.next().is_some() {
        bail!("{}: what is in it would be hidden; name a new or an empty directory", point.display());
    }
    Ok(())
}

/// Serves until it is unmounted or a signal comes.
fn serve(point: &Path, args: &MountArgs) -> anyhow::Result<()> {
    let (interfaces, in_background) = (&args.net, args.serve);
    // Whoever started it may have blocked or ignored anything.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block().context("cannot block signals")?;
    if in_background {
        setsid().context("cannot leave the session")?;
    }
    // Only who reads lists of processes sees it.
    let _ = nix::sys::prctl::set_name(c"lull-reserve");
    let facts = Facts::probe();
    sweep(&Root::real(), &facts.cgroups);
    let mut enforcers = Vec::new();
    let mut missing = Vec::new();
    let mut refused = None;
    for choice in Enforcement::find(&facts, net::plans(interfaces)?, args.threads) {
        match choice.enforcer {
            Ok(enforcer) => enforcers.push(enforcer),
            // Who has named an interface wants it to be shared.
            Err(why) if interfaces.iter().any(|plan| plan.interface == choice.name) => {
                refused = refused.or_else(|| Some(format!("--net {}: {why}", choice.name)));
            }
            Err(why) => missing.push(format!("{}: not to be reserved here: {why}", choice.name)),
        }
    }
    if let Some(why) = refused {
        for mut enforcer in enforcers {
            // Nothing has entered yet.
            let _ = enforcer.restore();
        }
        bail!(why);
    }
    if enforcers.is_empty() {
        bail!("nothing can be reserved here: {}", missing.join("; "));
    }
    let shared: Arc<OnceLock<Arc<Shared>>> = Arc::default();
    let listen = listener(Arc::clone(&shared));
    let means: Vec<_> =
        enforcers.iter().map(|found| format!("{}: {}", found.name(), found.means())).collect();
    let mut state = State::new(point.to_owned(), enforcers, !in_background, listen);
    means.iter().chain(&missing).for_each(|line| state.note(line));
    let state = Arc::new(Shared::new(state));
    let _only_once = shared.set(Arc::clone(&state));

    let session = attach(point, Files(Arc::clone(&state))).inspect_err(|_| {
        // Nothing has entered yet.
        let _ = state.lock().restore();
    })?;
    let collector = Arc::clone(&state);
    std::thread::spawn(move || collector.keep_collecting(COLLECT_PAUSE));
    let (ender, place) = (Arc::clone(&state), point.to_owned());
    std::thread::spawn(move || {
        if signals.wait().is_ok() {
            // Open files give errors from here on.
            let _ = umount2(&place, MntFlags::MNT_DETACH);
            std::process::exit(i32::from(ender.lock().restore().is_err()));
        }
    });
    let unmounted = Arc::clone(&state);
    std::thread::spawn(move || {
        // Without it the session alone tells.
        if wait_for_unmount().is_ok() {
            std::process::exit(i32::from(unmounted.lock().restore().is_err()));
        }
    });
    if in_background {
        say_ready()?;
    }
    session.run().context("cannot go on serving the mount")?;
    state.lock().restore().context("cannot remove a control group")
}

/// Mounts at `point`.
fn attach(point: &Path, files: Files) -> anyhow::Result<Session<Files>> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .context("cannot open /dev/fuse; `modprobe fuse` may help")?;
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_NOATIME;
    mount_fs(Some(find::source().as_str()), point, Some(find::TYPE), flags, Some(options.as_str()))
        .with_context(|| format!("cannot mount at {}", point.display()))?;
    Session::from_fd(files, OwnedFd::from(device), SessionACL::All, Config::default())
        .inspect_err(|_| {
            let _ = umount2(point, MntFlags::MNT_DETACH);
        })
        .context("cannot begin to serve the mount")
}

/// Waits until the mount is gone from this mount namespace. One that was copied meanwhile keeps the session alive: those of services and
/// containers are such.
fn wait_for_unmount() -> anyhow::Result<()> {
    let mut table = File::open("/proc/self/mountinfo").context("cannot read the mount table")?;
    let source = find::source();
    loop {
        let mut text = String::new();
        table.rewind().context("cannot read the mount table")?;
        table.read_to_string(&mut text).context("cannot read the mount table")?;
        if !text.contains(&source) {
            return Ok(());
        }
        // The kernel says when the table changes: proc_pid_mounts(5).
        let mut changes = [PollFd::new(table.as_fd(), PollFlags::POLLPRI)];
        match poll(&mut changes, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("cannot wait for the mount table"),
        }
    }
}

/// Tells the starter, and lets go of what it gave.
fn say_ready() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{READY}").and_then(|()| out.flush()).context("cannot say that it is ready")?;
    let null = File::options().read(true).write(true).open("/dev/null").context("cannot open /dev/null")?;
    for standard in [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: the new descriptor is open, and the old ones are the standard streams.
        unsafe { libc::dup2(null.as_raw_fd(), standard) };
    }
    std::env::set_current_dir("/").context("cannot leave the directory")
}

/// Starts to hear of forks, at the first call that succeeds.
fn listener(shared: Arc<OnceLock<Arc<Shared>>>) -> Box<dyn FnMut() -> std::io::Result<()> + Send> {
    let mut listens = false;
    Box::new(move || {
        if listens {
            return Ok(());
        }
        let forks = Forks::listen()?;
        listens = true;
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            let Some(state) = shared.get() else { return };
            // A socket that fails leaves children where their parents are.
            while let Ok(change) = forks.wait() {
                match change {
                    Change::Fork { parent, child } => state.lock().forked(parent, child),
                    Change::Exit(pid) => state.lock().ended(pid),
                    Change::Lost => state.lock().catch_up(),
                }
            }
        });
        Ok(())
    })
}

/// Takes away a mount whose process is gone, and what that left in the kernel.
fn clear_dead(mounted: &Mounted) -> anyhow::Result<()> {
    umount2(&mounted.point, MntFlags::MNT_DETACH)
        .with_context(|| format!("cannot unmount what a killed lull left at {}", mounted.point.display()))?;
    sweep_now();
    Ok(())
}

/// Dissolves the groups of mounts that were killed; their tops.
fn sweep_now() -> Vec<PathBuf> {
    sweep(&Root::real(), &CgroupFacts::read(&Root::real(), true))
}

/// Unmounts, and returns when everything is as it was.
pub(super) fn unmount(args: &UnmountArgs) -> anyhow::Result<()> {
    needs_root("unmount")?;
    let place = args.point.display();
    let Some(mounted) = find::at(&args.point) else {
        // Of a mount that was killed, then unmounted by other means.
        if sweep_now().is_empty() {
            bail!("{place}: no reservations are mounted there");
        }
        return Ok(());
    };
    if !mounted.is_served() {
        return clear_dead(&mounted);
    }
    if args.lazy {
        let pid = Pid::from_raw(mounted.pid.cast_signed());
        kill(pid, Signal::SIGTERM).with_context(|| format!("cannot end process {pid}"))?;
    } else {
        match umount2(&mounted.point, MntFlags::empty()) {
            Err(Errno::EBUSY) => bail!(
                "{place} is in use: a file in it is open, or a shell is in it (`fuser -vm {place}` tells whose); \
                 --lazy unmounts it all the same"
            ),
            other => other.with_context(|| format!("cannot unmount {place}"))?,
        }
    }
    let begun = Instant::now();
    while mounted.is_served() {
        if begun.elapsed() > END_LIMIT {
            bail!("process {} is still putting back what runs in the reservations", mounted.pid);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
