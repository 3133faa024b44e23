//! `lull condor install` and `uninstall`: two files, one in HTCondor's local config directory and the wrapper beside that directory.
//!
//! Nothing else is touched. A file of that name that lull did not write is left alone, and said; writing is all or nothing for each file. After
//! uninstall the directory is as it was.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use lull_core::base::bytes::Bytes;
use lull_core::linger::GuestPolicy;
use lull_core::linger::classad::Terms;
use lull_core::linger::episode::OwnerSetting;
use lull_core::{Nanos, Share};
use lull_linux::below::Below;
use lull_linux::root::Root;
use serde::Serialize;

use super::ask::{setting, tool};
use super::config::{Config, is_ours};
use crate::guests::below;

/// Files of a directory are read in the order of their names; this one late.
const FILE: &str = "90-lull.conf";
const WRAPPER: &str = "lull-guest";

/// Nothing is known of an owner after so many periods without news, and not before this time.
const STALE_PERIODS: u64 = 6;
const STALE_AT_LEAST: Nanos = Nanos::from_secs(60);

/// Arguments of `lull condor install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// What becomes of a guest when the owner is back: linger-longer, linger-forever, immediate-eviction (evict), pause-and-migrate or
    /// suspend-in-place (suspend).
    ///
    /// Lingering gets most done and costs the owner what `lull condor status` shows; eviction costs him least.
    #[arg(long, value_name = "POLICY", default_value_t = GuestPolicy::LingerLonger)]
    policy: GuestPolicy,

    /// The share of one CPU from which on its use is a sign of an owner at work.
    ///
    /// Less takes what a resting machine does for an owner; more overlooks one who reads.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    busy: Share,

    /// After so long without a sign an owner is away.
    ///
    /// Shorter lets guests start sooner, and is wrong more often.
    #[arg(long, value_name = "TIME", default_value = "15min")]
    away_after: Nanos,

    /// How long pause-and-migrate waits for an owner to leave again.
    #[arg(long, value_name = "TIME", default_value = "1min")]
    patience: Nanos,

    /// What a move takes besides the transfer: queue, match, start. More makes linger-longer stay longer.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    restart: Nanos,

    /// Bytes per second from node to node, for what a move carries along.
    #[arg(long, value_name = "SIZE", default_value = "10MiB")]
    bandwidth: Bytes,

    /// Time between checkpoints of guests that save themselves (checkpoint_exit_code) and do not say how often (+LullSavesEvery, in
    /// seconds).
    #[arg(long, value_name = "TIME", default_value = "5min")]
    saves_every: Nanos,

    /// How often the node is looked at. Shorter notices an owner sooner, and reads /proc more often.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    period: Nanos,

    /// Leave guests in the control groups that HTCondor gives them, where their idle class may count in their own group only.
    ///
    /// Without this, HTCondor's master runs `lull condor below`, which needs root and changes cpu.idle of guests' groups.
    #[arg(long)]
    keep_groups: bool,

    /// HTCondor's local config directory (default: the last of LOCAL_CONFIG_DIR).
    #[arg(long, value_name = "DIR")]
    config_dir: Option<PathBuf>,

    /// Print the file instead of writing it.
    #[arg(long)]
    dry_run: bool,
}

/// Arguments of `lull condor uninstall`.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// HTCondor's local config directory (default: the last of LOCAL_CONFIG_DIR).
    #[arg(long, value_name = "DIR")]
    config_dir: Option<PathBuf>,
}

/// Where the two files are.
struct Places {
    file: PathBuf,
    wrapper: PathBuf,
}

impl Places {
    fn find(given: Option<&Path>) -> anyhow::Result<Self> {
        let dir = match given {
            Some(dir) => dir.to_owned(),
            None => local_config_dir()?,
        };
        let beside = dir
            .canonicalize()
            .with_context(|| format!("{}: HTCondor's local config directory is not there", dir.display()))?;
        let beside = beside.parent().unwrap_or(&beside).to_owned();
        Ok(Self { file: dir.join(FILE), wrapper: beside.join(WRAPPER) })
    }
}

/// Later directories have the last word.
fn local_config_dir() -> anyhow::Result<PathBuf> {
    let dirs = setting("LOCAL_CONFIG_DIR")?.unwrap_or_default();
    let last = dirs.split([',', ' ']).rfind(|dir| !dir.is_empty());
    last.map(PathBuf::from)
        .context("HTCondor has no LOCAL_CONFIG_DIR; name a directory that it reads with --config-dir DIR")
}

pub(super) fn install(args: &InstallArgs) -> anyhow::Result<()> {
    if args.period < Nanos::from_millis(100) {
        bail!("--period {}: reading /proc takes milliseconds; write 100ms or more", args.period);
    }
    if args.bandwidth.0 == 0 {
        bail!("--bandwidth 0: nothing could move; write a size, like 10MiB");
    }
    let places = Places::find(args.config_dir.as_deref())?;
    let program = std::env::current_exe().context("cannot tell where lull is")?;
    let config = Config {
        program: &program,
        wrapper: &places.wrapper,
        terms: Terms {
            policy: args.policy,
            patience: args.patience,
            restart: args.restart,
            bytes_per_s: args.bandwidth.0,
            saves_every: args.saves_every,
            stale_after: args.period.times(STALE_PERIODS).max(STALE_AT_LEAST),
        },
        owner: OwnerSetting { busy: args.busy.fraction(), away_after: args.away_after },
        period: args.period,
        below: !args.keep_groups && executes(),
        wrapped: other_wrapper(&places.wrapper),
    };
    if args.dry_run {
        print!("{}", config.file());
        return Ok(());
    }
    for path in [&places.file, &places.wrapper] {
        refuse_foreign(path)?;
    }
    // The wrapper first: a configuration without it would start no guest.
    write(&places.wrapper, &config.wrapper(), 0o755)?;
    write(&places.file, &config.file(), 0o644)?;
    println!("wrote {} and {}", places.file.display(), places.wrapper.display());
    if args.config_dir.is_none() {
        reconfigure();
        warnings(&places).iter().for_each(|warning| eprintln!("lull: {warning}"));
    }
    Ok(())
}

pub(super) fn uninstall(args: &UninstallArgs) -> anyhow::Result<()> {
    let places = Places::find(args.config_dir.as_deref())?;
    let mut removed = Vec::new();
    // The configuration first: a wrapper that is named and not there would start no guest.
    for path in [&places.file, &places.wrapper] {
        refuse_foreign(path)?;
        match std::fs::remove_file(path) {
            Ok(()) => removed.push(path.display().to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot remove {}", path.display())),
        }
        // Guests that start between the two removals still find the wrapper.
        if path == &places.file && args.config_dir.is_none() && !removed.is_empty() {
            reconfigure();
        }
    }
    // What a helper that was killed has left.
    if let Some(left) = Below::left(&Root::real()).filter(|_| args.config_dir.is_none()) {
        left.restore();
    }
    match removed.as_slice() {
        [] => println!("nothing was installed in {}", places.file.parent().unwrap_or(&places.file).display()),
        removed => println!("removed {}", removed.join(" and ")),
    }
    Ok(())
}

/// The job wrapper of somebody else.
fn other_wrapper(ours: &Path) -> Option<String> {
    // After an earlier install it is named in our wrapper only.
    let before = std::fs::read_to_string(ours).ok().and_then(|text| wrapped_in(&text));
    let named =
        setting("USER_JOB_WRAPPER").ok().flatten().filter(|path| Path::new(path) != ours && !path.is_empty());
    named.or(before)
}

/// What our wrapper calls between lull and the guest.
fn wrapped_in(wrapper: &str) -> Option<String> {
    let line = wrapper.lines().rfind(|line| line.starts_with("exec '"))?;
    Some(line.strip_prefix("exec '")?.strip_suffix("' \"$@\"")?.replace("'\\''", "'"))
}

fn refuse_foreign(path: &Path) -> anyhow::Result<()> {
    match std::fs::read_to_string(path) {
        Ok(text) if !is_ours(&text) => {
            bail!("{} is not lull's: move it away, and try again", path.display())
        }
        _ => Ok(()),
    }
}

/// All of it or nothing: HTCondor may read the directory at any moment, and a name that begins with a dot is none that it reads.
fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.new"));
    let written = std::fs::write(&draft, text)
        .and_then(|()| std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(mode)))
        .and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
        .with_context(|| format!("cannot write {}: HTCondor's configuration belongs to root", path.display()))
}

/// Has the daemons read their configuration; where none runs, they will when they start.
fn reconfigure() {
    if let Err(error) = tool("condor_reconfig", &[]) {
        eprintln!(
            "lull: {error:#}; HTCondor reads its configuration when it starts, or after condor_reconfig"
        );
    }
}

/// What in the rest of the configuration keeps guests from lingering.
fn warnings(places: &Places) -> Vec<String> {
    let mut warnings = Vec::new();
    let value = |name| setting(name).ok().flatten().unwrap_or_default();
    if value("PREEMPT") != "LullLeaves" || Path::new(&value("USER_JOB_WRAPPER")) != places.wrapper {
        let who = tool("condor_config_val", &["-v", "PREEMPT"]).unwrap_or_default();
        let at = who
            .lines()
            .find_map(|line| line.trim().strip_prefix("# at: "))
            .unwrap_or("another file")
            .to_owned();
        warnings.push(format!(
            "{at} has the last word on PREEMPT or USER_JOB_WRAPPER: guests will not do what --policy says"
        ));
    }
    let start = value("START");
    for word in ["KeyboardIdle", "ConsoleIdle", "LoadAvg"] {
        if start.contains(word) {
            warnings.push(format!(
                "START already waits for {word}: no guest starts beside an owner, though those that run linger (`condor_config_val -v START`)"
            ));
        }
    }
    warnings
}

/// What `lull doctor` tells of HTCondor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Installed {
    /// HTCondor's version, as it says.
    pub(crate) version: String,
    /// Whether this node runs guests.
    pub(crate) executes: bool,
    /// The policy that lull was installed with.
    pub(crate) policy: Option<GuestPolicy>,
    /// Before whom the guests that run now come last on the CPUs, in words; none without guests.
    pub(crate) below: Option<String>,
    /// Why guests do not do what the policy says.
    pub(crate) warnings: Vec<String>,
}

/// Whether this node runs guests.
fn executes() -> bool {
    let daemons = setting("DAEMON_LIST").ok().flatten().unwrap_or_default();
    daemons.split([',', ' ']).any(|daemon| daemon.eq_ignore_ascii_case("STARTD"))
}

/// Looks whether HTCondor is here.
pub(crate) fn look() -> Option<Installed> {
    let version = tool("condor_version", &[]).ok()?;
    let version = version.lines().next()?.trim_matches(['$', ' ']).replace("CondorVersion: ", "");
    let version = version.split_whitespace().next().unwrap_or_default().to_owned();
    let executes = executes();
    let places = Places::find(None).ok();
    let text = places.as_ref().and_then(|places| std::fs::read_to_string(&places.file).ok());
    let policy = text.filter(|text| is_ours(text)).and_then(|text| policy_of(&text));
    let warnings = match (&places, policy) {
        (Some(places), Some(_)) => warnings(places),
        _ => Vec::new(),
    };
    let below = below::reach(super::DAEMONS).filter(|_| executes).map(|reach| below::words(&reach));
    Some(Installed { version, executes, policy, below, warnings })
}

fn policy_of(text: &str) -> Option<GuestPolicy> {
    let words = text.lines().next()?.split_once("--policy ")?.1;
    words.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
