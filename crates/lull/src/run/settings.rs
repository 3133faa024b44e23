//! What a run is set to: from the configuration file, overridden by the command line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use lull_core::base::bytes::Bytes;
use lull_core::{
    ControlSetting, CpuSetting, DepthChoice, HoldSetting, IntervalChoice, Loss, Nanos, RoomSetting, Share,
    StartRule, Variant, WindowChoice,
};
use lull_linux::gate::qdisc::QdiscPlan;
use lull_linux::seccomp::Scope;
use serde::Deserialize;

use super::hold_choice::HoldChoice;
use super::net::options::{DEFAULT_ROUTE, EVERYBODY, NetOptions};
use super::policy::PolicyChoice;
use super::protect;
use super::slo::{Slo, SloChoice};
use lull_engine::cpu::CpuAim;
use lull_engine::disk::account::of_disk;
use lull_engine::memory::aim::{Begins, CACHE_KEEP_BYTES, DIRTY_BYTES, LONGEST_DIRTY_HOLD, MemoryAim};
use written::Written;

mod written;

/// What the foreground may lose, unless the user says otherwise.
const MAX_SLOWDOWN: Loss = Loss::percent(5);
/// A delay of one request that nobody minds.
const MAX_DELAY: Nanos = Nanos::from_micros(100);
/// The longest time that the job is held without a break for other reasons than reading around the gate.
const LONGEST_HOLD: Nanos = Nanos::from_secs(1);

/// Which sensor observes the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SensorChoice {
    /// BPF where it may be loaded, else diskstats.
    #[default]
    Auto,
    /// BPF block events.
    Bpf,
    /// /proc/diskstats, at the millisecond scale.
    Diskstats,
}

/// A kind of resource that is lent in the gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ResourceChoice {
    /// The disks.
    Disk,
    /// The CPUs.
    Cpu,
    /// The memory, with page cache and write-back.
    Memory,
    /// The network interfaces.
    Net,
}

/// What is lent in the gaps only if nothing is said.
const DEFAULT_RESOURCES: [ResourceChoice; 4] =
    [ResourceChoice::Disk, ResourceChoice::Cpu, ResourceChoice::Memory, ResourceChoice::Net];

/// Whether the network is lent in the gaps only, and from when on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LendNet {
    /// It is left as it is.
    #[default]
    Never,
    /// From the job's first internet socket on, if it can be had: nothing was said about it.
    WhenUsed,
    /// Before the job begins, and a person is told if it cannot be had: it was named.
    AtOnce,
}

/// Whether the job's memory is written to swap ahead of need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CleanChoice {
    /// In idle disk time, as long as it pays.
    #[default]
    Auto,
    /// Never.
    Never,
}

/// When what the job does is told while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StatusChoice {
    /// In a line at the bottom of the terminal, when stderr is one.
    #[default]
    Auto,
    /// There, or else as a line on stderr every 10 s.
    Always,
    /// Never.
    Never,
}

/// Everything about a run but the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunSettings {
    /// Who decides when the job is held; the rest is idletime's, but for the last few.
    pub(crate) policy: PolicyChoice,
    pub(crate) control: ControlSetting,
    /// What the foreground may lose at most, over all resources.
    pub(crate) promise: Loss,
    /// Whether the disks are lent in the gaps only.
    pub(crate) watches_disks: bool,
    /// Resources that were named, so that a person is told if one cannot be had.
    pub(crate) named: Vec<ResourceChoice>,
    /// What is promised about the CPUs; `None`: the kernel's priorities alone.
    pub(crate) cpu: Option<CpuAim>,
    /// When the network begins to be lent in the gaps only.
    pub(crate) net: LendNet,
    /// What else is background there.
    pub(crate) tags: lull_bpf::Tags,
    /// Interfaces that get two classes while the job runs.
    pub(crate) qdiscs: Vec<QdiscPlan>,
    pub(crate) slo: Option<SloChoice>,
    /// What is wanted of the job's memory; `None`: it is left to the kernel.
    pub(crate) memory: Option<MemoryAim>,
    /// `None`: the hold gate is off.
    pub(crate) hold: Option<HoldSetting>,
    /// What the hold gate does.
    pub(crate) hold_by: HoldChoice,
    pub(crate) scope: Scope,
    /// Whether the job's questions for its CPUs, and its choices of them, are trapped.
    pub(crate) traps_affinity: bool,
    pub(crate) io_uring: bool,
    /// Whether what the command leaves behind is foreground again.
    pub(crate) release_leftovers: bool,
    pub(crate) sensor: SensorChoice,
    pub(crate) protect: lull_bpf::Protect,
    pub(crate) disks: Vec<String>,
    pub(crate) status: StatusChoice,
    pub(crate) summary: Option<PathBuf>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

/// The configuration file; each key is the option of the same name.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    run: RunSection,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct RunSection {
    policy: Option<String>,
    interval: Option<String>,
    depth: Option<toml::Value>,
    window: Option<String>,
    start: Option<String>,
    variant: Option<String>,
    max_slowdown: Option<String>,
    resources: Vec<ResourceChoice>,
    slo: Option<String>,
    cpu_floor: Option<String>,
    max_delay: Option<String>,
    cache_keep: Option<String>,
    dirty: Option<String>,
    mem_low: Option<String>,
    mem_high: Option<String>,
    mem_batch: Option<String>,
    mem_clean: Option<CleanChoice>,
    gate: Option<String>,
    hold: Option<HoldChoice>,
    longest_hold: Option<String>,
    io_uring: Option<bool>,
    release_leftovers: Option<bool>,
    sensor: Option<SensorChoice>,
    status: Option<StatusChoice>,
    protect: Vec<String>,
    disk: Vec<String>,
    net_ports: Written,
    net_address: Written,
    net_mark: Written,
    net_answer: Written,
    qdisc: Written,
}

/// The options of `lull run` as given, each still optional.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) policy: Option<PolicyChoice>,
    pub(crate) interval: Option<IntervalChoice>,
    pub(crate) depth: Option<DepthChoice>,
    pub(crate) window: Option<WindowChoice>,
    pub(crate) start: Option<StartRule>,
    pub(crate) variant: Option<Variant>,
    pub(crate) max_slowdown: Option<Loss>,
    pub(crate) resources: Vec<ResourceChoice>,
    pub(crate) slo: Option<SloChoice>,
    pub(crate) cpu_floor: Option<Share>,
    pub(crate) max_delay: Option<Nanos>,
    pub(crate) cache_keep: Option<Bytes>,
    pub(crate) dirty: Option<Bytes>,
    pub(crate) mem_low: Option<Bytes>,
    pub(crate) mem_high: Option<Bytes>,
    pub(crate) mem_batch: Option<Bytes>,
    pub(crate) mem_clean: Option<CleanChoice>,
    pub(crate) gate: Option<Scope>,
    pub(crate) hold: Option<HoldChoice>,
    pub(crate) longest_hold: Option<LongestHold>,
    pub(crate) io_uring: Option<bool>,
    pub(crate) release_leftovers: Option<bool>,
    pub(crate) sensor: Option<SensorChoice>,
    pub(crate) status: Option<StatusChoice>,
    pub(crate) protect: Vec<String>,
    pub(crate) disks: Vec<String>,
    pub(crate) net: NetOptions,
}

/// The longest time a job may be held at a stretch, or that it never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongestHold {
    Off,
    AtMost(Nanos),
}

impl FromStr for LongestHold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self::Off);
        }
        match text.parse() {
            Ok(Nanos::ZERO) => Ok(Self::Off),
            Ok(longest) => Ok(Self::AtMost(longest)),
            Err(error) => Err(format!("{error}, or off")),
        }
    }
}

/// Where a configuration file is looked for when none is named.
fn usual_places() -> Vec<PathBuf> {
    let home = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    home.map(|dir| dir.join("lull/lull.toml"))
        .into_iter()
        .chain([PathBuf::from("/etc/lull/lull.toml")])
        .collect()
}

fn read(path: &Path) -> anyhow::Result<Given> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("in {}", path.display()))
}

/// One value of the file by the option's own parser, so that both accept the same words.
fn value<T: FromStr>(key: &str, text: Option<String>) -> anyhow::Result<Option<T>>
where
    T::Err: std::fmt::Display,
{
    text.map(|text| text.parse().map_err(|error| anyhow::anyhow!("run.{key}: {error}"))).transpose()
}

/// What is wrong in the file, and in which line, in one line of its own.
fn one_line(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let what = error.message().trim_end().replace('\n', ", ");
    let before = error.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => anyhow::anyhow!("line {}: {what}", before.matches('\n').count() + 1),
        None => anyhow::anyhow!("{what}"),
    }
}

pub(crate) fn parse(text: &str) -> anyhow::Result<Given> {
    let run = toml::from_str::<File>(text).map_err(|error| one_line(text, &error))?.run;
    let depth = match run.depth {
        None => None,
        Some(toml::Value::Integer(depth)) => Some(depth.to_string()),
        Some(toml::Value::String(depth)) => Some(depth),
        Some(other) => bail!("run.depth: '{other}' is not a bound; use \"auto\" or a number from 1"),
    };
    Ok(Given {
        policy: value("policy", run.policy)?,
        interval: value("interval", run.interval)?,
        depth: value("depth", depth)?,
        window: value("window", run.window)?,
        start: value("start", run.start)?,
        variant: value("variant", run.variant)?,
        max_slowdown: value("max-slowdown", run.max_slowdown)?,
        resources: run.resources,
        slo: value("slo", run.slo)?,
        cpu_floor: value("cpu-floor", run.cpu_floor)?,
        max_delay: value("max-delay", run.max_delay)?,
        cache_keep: value("cache-keep", run.cache_keep)?,
        dirty: value("dirty", run.dirty)?,
        mem_low: value("mem-low", run.mem_low)?,
        mem_high: value("mem-high", run.mem_high)?,
        mem_batch: value("mem-batch", run.mem_batch)?,
        mem_clean: run.mem_clean,
        gate: value("gate", run.gate)?,
        hold: run.hold,
        longest_hold: value("longest-hold", run.longest_hold)?,
        io_uring: run.io_uring,
        release_leftovers: run.release_leftovers,
        sensor: run.sensor,
        status: run.status,
        protect: run.protect,
        disks: run.disk,
        net: NetOptions {
            net_ports: run.net_ports.values("net-ports", None)?,
            net_address: run.net_address.values("net-address", None)?,
            net_mark: run.net_mark.values("net-mark", None)?,
            net_answer: run.net_answer.at_most_one("net-answer", Some(EVERYBODY))?,
            qdisc: run.qdisc.values("qdisc", Some(DEFAULT_ROUTE))?,
        },
    })
}

/// The thresholds of the job's memory. A high one that is not named is the low one.
///
/// # Errors
/// When the low one is above the high one.
pub(crate) fn thresholds(low: Option<Bytes>, high: Option<Bytes>) -> anyhow::Result<RoomSetting> {
    let low_bytes = low.map_or(0, |low| low.0);
    let high_bytes = high.map_or(low_bytes, |high| high.0);
    if low_bytes > high_bytes {
        bail!("--mem-low {} is above --mem-high {}", Bytes(low_bytes), Bytes(high_bytes));
    }
    Ok(RoomSetting { low_bytes, high_bytes })
}

impl Given {
    /// The configuration file's options: of the named file, or of the first usual one that exists.
    ///
    /// # Errors
    /// A named file that is missing, a key that is unknown, a value that makes no sense; each with the file's name.
    pub(crate) fn from_files(named: Option<&Path>) -> anyhow::Result<Self> {
        match named {
            Some(path) => read(path),
            None => usual_places()
                .iter()
                .find(|path| path.is_file())
                .map_or_else(|| Ok(Self::default()), |path| read(path)),
        }
    }

    /// What `self`, the command line, leaves open is taken from `file`, then from the defaults.
    ///
    /// # Errors
    /// When something named to be protected cannot be found.
    pub(crate) fn over(self, file: Self) -> anyhow::Result<RunSettings> {
        let policy = self.policy.or(file.policy).unwrap_or_default();
        if policy != PolicyChoice::Idletime {
            return self.held_by(policy, file);
        }
        let default = ControlSetting::default();
        let promise = self.max_slowdown.or(file.max_slowdown).unwrap_or(MAX_SLOWDOWN);
        let control = ControlSetting {
            interval: self.interval.or(file.interval).unwrap_or(default.interval),
            depth: self.depth.or(file.depth).unwrap_or(default.depth),
            window: self.window.or(file.window).unwrap_or(default.window),
            max_delay: self.max_delay.or(file.max_delay).unwrap_or(MAX_DELAY),
            start_rule: self.start.or(file.start).unwrap_or(default.start_rule),
            variant: self.variant.or(file.variant).unwrap_or(default.variant),
            budget: of_disk(promise),
        };
        let longest_hold = self.longest_hold.or(file.longest_hold);
        let hold = match longest_hold {
            Some(LongestHold::Off) => None,
            Some(LongestHold::AtMost(longest)) => Some(HoldSetting { longest, ..HoldSetting::default() }),
            None => Some(HoldSetting::default()),
        };
        let resources = if self.resources.is_empty() { file.resources } else { self.resources };
        let lends = |resource| match resources.as_slice() {
            [] => DEFAULT_RESOURCES.contains(&resource),
            named => named.contains(&resource),
        };
        let slo = self.slo.or(file.slo);
        if slo.is_some() && !lends(ResourceChoice::Cpu) {
            bail!("--slo decides about the CPUs; add cpu to --resources");
        }
        if slo.is_some() && longest_hold == Some(LongestHold::Off) {
            bail!(
                "--slo compares by holding the job, which --longest-hold off forbids; leave one of them out"
            );
        }
        if let (Some(_), Some(LongestHold::AtMost(longest))) = (&slo, longest_hold)
            && longest < Slo::longest_test()
        {
            let needed = Slo::longest_test();
            bail!(
                "--longest-hold {longest} is too short for --slo: of a value a second, a comparison needs {needed}; leave it out, or \
                 give {needed} or more"
            );
        }
        let longest = match longest_hold {
            Some(LongestHold::Off) => None,
            Some(LongestHold::AtMost(longest)) => Some(longest),
            None => Some(LONGEST_HOLD),
        };
        let floor = self.cpu_floor.or(file.cpu_floor).unwrap_or_else(|| CpuSetting::default().floor);
        let max_delay = self.max_delay.or(file.max_delay).unwrap_or(MAX_DELAY);
        let cpu = lends(ResourceChoice::Cpu).then_some(CpuAim { promise, max_delay, floor, longest });
        let (low, high) = (self.mem_low.or(file.mem_low), self.mem_high.or(file.mem_high));
        let (cache_keep, batch) = (self.cache_keep.or(file.cache_keep), self.mem_batch.or(file.mem_batch));
        let tuned = [cache_keep, self.dirty.or(file.dirty), low, high, batch].iter().any(Option::is_some);
        let clean = self.mem_clean.or(file.mem_clean);
        if (tuned || clean.is_some()) && !lends(ResourceChoice::Memory) {
            bail!("--cache-keep, --dirty and the options --mem-... need memory among --resources");
        }
        if batch == Some(Bytes(0)) {
            bail!("--mem-batch 0 takes nothing; name a size, like 4MiB");
        }
        let room = thresholds(low, high)?;
        let sensor = self.sensor.or(file.sensor).unwrap_or_default();
        let begins = match resources.is_empty() && !tuned && clean.is_none() {
            true => Begins::WhenLarge,
            false => Begins::AtOnce,
        };
        // Whoever wants no BPF program gets none that was not named.
        let is_wanted = begins == Begins::AtOnce || sensor != SensorChoice::Diskstats;
        let memory = (is_wanted && lends(ResourceChoice::Memory)).then(|| MemoryAim {
            begins,
            room,
            batch_bytes: batch.map(|batch| batch.0),
            cleans: clean.unwrap_or_default() == CleanChoice::Auto,
            keeps_unused: cache_keep.is_none(),
            cache_keep_bytes: cache_keep.map_or(CACHE_KEEP_BYTES, |keep| keep.0),
            dirty_bytes: self.dirty.or(file.dirty).map_or(DIRTY_BYTES, |dirty| dirty.0),
            longest_hold: longest.map(|longest| longest.min(LONGEST_DIRTY_HOLD)),
        });
        let net = self.net.or(file.net);
        if net.is_given() && !lends(ResourceChoice::Net) {
            bail!(
                "--net-ports, --net-address, --net-mark, --net-answer and --qdisc need net among --resources"
            );
        }
        let lend_net = match lends(ResourceChoice::Net) {
            false => LendNet::Never,
            true if resources.is_empty() && !net.is_given() => LendNet::WhenUsed,
            true => LendNet::AtOnce,
        };
        let disks = if self.disks.is_empty() { file.disks } else { self.disks };
        if let Some(unknown) = disks.iter().find(|disk| !Path::new("/sys/block").join(disk).exists()) {
            bail!("--disk {unknown}: no such disk in /sys/block; `lull doctor` lists the disks");
        }
        let named = if self.protect.is_empty() { file.protect } else { self.protect };
        // Calls are trapped, and io_uring is refused, for the disks' sake. The network when used needs trapped sockets, but it
        // is never without the disks.
        let watches_disks = lends(ResourceChoice::Disk);
        let gate = self.gate.or(file.gate).unwrap_or_default();
        let scope = if watches_disks { gate } else { Scope::None };
        Ok(RunSettings {
            control,
            promise,
            watches_disks,
            named: resources,
            net: lend_net,
            qdiscs: net.qdiscs()?,
            tags: net.find()?,
            cpu,
            slo,
            memory,
            hold,
            hold_by: self.hold.or(file.hold).unwrap_or_default(),
            scope,
            traps_affinity: cpu.is_some() && gate != Scope::None,
            io_uring: self.io_uring.or(file.io_uring).unwrap_or(!watches_disks),
            release_leftovers: self.release_leftovers.or(file.release_leftovers).unwrap_or(false),
            sensor,
            protect: protect::find(&named)?,
            disks,
            status: self.status.or(file.status).unwrap_or_default(),
            ..RunSettings::default()
        })
    }

    /// Settings for a policy that holds the whole job. What the file says of idletime is left aside.
    fn held_by(self, policy: PolicyChoice, file: Self) -> anyhow::Result<RunSettings> {
        if let Some(option) = self.of_idletime() {
            bail!("{option} means nothing to --policy {}; leave one of them out", policy.name());
        }
        let named = if self.protect.is_empty() { file.protect } else { self.protect };
        let protect = protect::find(&named)?;
        if !protect.cgroup_ids.is_empty() || (!named.is_empty() && !matches!(policy, PolicyChoice::Smart(_)))
        {
            bail!("--protect: --policy smart takes process ids, --policy manners looks at the job alone");
        }
        Ok(RunSettings {
            policy,
            scope: Scope::None,
            io_uring: true,
            hold_by: self.hold.or(file.hold).unwrap_or_default(),
            release_leftovers: false,
            protect,
            status: self.status.or(file.status).unwrap_or_default(),
            ..RunSettings::default()
        })
    }
}

#[cfg(test)]
mod tests;
