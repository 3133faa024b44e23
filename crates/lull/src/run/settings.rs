//! What a run is set to: what was asked for ([`lull_api::options`]), in the terms of those who do it.

use std::path::Path;

use anyhow::bail;
use lull_api::options::{MEMORY, Memory, NETWORK, Options, Protection, ThisRun};
use lull_api::{CleanChoice, Given, LongestHold, PolicyChoice, ResourceChoice, SensorChoice, names_under};
use lull_core::{ControlSetting, HoldSetting, Loss, Nanos};
use lull_engine::cpu::CpuAim;
use lull_engine::disk::account::of_disk;
use lull_engine::memory::aim::{Begins, CACHE_KEEP_BYTES, LONGEST_DIRTY_HOLD, MemoryAim};
use lull_linux::gate::qdisc::QdiscPlan;
use lull_linux::seccomp::Scope;

use super::net::options::{find, qdiscs};
use super::protect;
use super::slo::Slo;

/// The longest time that the job is held without a break for other reasons than reading around the gate.
const LONGEST_HOLD: Nanos = Nanos::from_secs(1);

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

/// Everything about a run but the command. What is used as it was asked for stays in `asked` and `this`; the rest is worked out.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunSettings {
    pub(crate) asked: Options,
    pub(crate) this: ThisRun,
    pub(crate) control: ControlSetting,
    /// What the foreground may lose at most, over all resources.
    pub(crate) promise: Loss,
    /// Whether the disks are lent in the gaps only.
    pub(crate) watches_disks: bool,
    /// What is promised about the CPUs; `None`: the kernel's priorities alone.
    pub(crate) cpu: Option<CpuAim>,
    /// When the network begins to be lent in the gaps only.
    pub(crate) net: LendNet,
    /// What else is background there.
    pub(crate) tags: lull_bpf::Tags,
    /// Interfaces that get two classes while the job runs.
    pub(crate) qdiscs: Vec<QdiscPlan>,
    /// What is wanted of the job's memory; `None`: it is left to the kernel.
    pub(crate) memory: Option<MemoryAim>,
    /// `None`: the hold gate is off.
    pub(crate) hold: Option<HoldSetting>,
    pub(crate) scope: Scope,
    /// Whether the job's questions for its CPUs, and its choices of them, are trapped.
    pub(crate) traps_affinity: bool,
    pub(crate) io_uring: bool,
    pub(crate) protect: lull_bpf::Protect,
}

/// What `given` comes to.
///
/// # Errors
/// When options contradict each other, or name what is not here.
pub(crate) fn settle(given: Given, this: ThisRun) -> anyhow::Result<RunSettings> {
    let Options { protection, disks, holding, memory, network, .. } = &given.options;
    if protection.policy != PolicyChoice::Idletime {
        return held_by(given, this);
    }
    let lends = |resource| protection.resources.is_empty() || protection.resources.contains(&resource);
    check_slo(protection, holding.longest_hold)?;
    let promise = protection.max_slowdown;
    let control = ControlSetting {
        interval: disks.interval,
        depth: disks.depth,
        window: disks.window,
        max_delay: protection.max_delay,
        start_rule: disks.start,
        variant: disks.variant,
        budget: of_disk(promise),
    };
    let hold = HoldSetting::default();
    let (hold, longest) = match holding.longest_hold {
        Some(LongestHold::Off) => (None, None),
        Some(LongestHold::AtMost(longest)) => (Some(HoldSetting { longest, ..hold }), Some(longest)),
        None => (Some(hold), Some(LONGEST_HOLD)),
    };
    let cpu = lends(ResourceChoice::Cpu).then_some(CpuAim {
        promise,
        max_delay: protection.max_delay,
        floor: protection.cpu_floor,
        longest,
    });
    let concerns_memory = given.has(MEMORY);
    if concerns_memory && !lends(ResourceChoice::Memory) {
        bail!("{} need memory among --resources", names_under(MEMORY));
    }
    let aim = memory_aim(memory, longest, protection.resources.is_empty() && !concerns_memory)?;
    // Whoever wants no BPF program gets none that was not named.
    let is_wanted = aim.begins == Begins::AtOnce || disks.sensor != SensorChoice::Diskstats;
    let memory = (is_wanted && lends(ResourceChoice::Memory)).then_some(aim);
    if given.has(NETWORK) && !lends(ResourceChoice::Net) {
        bail!("{} need net among --resources", names_under(NETWORK));
    }
    let net = match lends(ResourceChoice::Net) {
        false => LendNet::Never,
        true if protection.resources.is_empty() && !given.has(NETWORK) => LendNet::WhenUsed,
        true => LendNet::AtOnce,
    };
    if let Some(unknown) = disks.disk.iter().find(|disk| !Path::new("/sys/block").join(disk).exists()) {
        bail!("--disk {unknown}: no such disk in /sys/block; `lull doctor` lists the disks");
    }
    // Calls are trapped, and io_uring is refused, for the disks' sake. The network when used needs trapped sockets, but it
    // is never without the disks.
    let watches_disks = lends(ResourceChoice::Disk);
    Ok(RunSettings {
        control,
        promise,
        watches_disks,
        net,
        qdiscs: qdiscs(network)?,
        tags: find(network)?,
        cpu,
        memory,
        hold,
        scope: if watches_disks { disks.gate } else { Scope::None },
        traps_affinity: cpu.is_some() && disks.gate != Scope::None,
        io_uring: disks.io_uring.unwrap_or(!watches_disks),
        protect: protect::find(&protection.protect)?,
        asked: given.options,
        this,
    })
}

/// Whether the user's own measure can decide.
fn check_slo(protection: &Protection, longest_hold: Option<LongestHold>) -> anyhow::Result<()> {
    if protection.slo.is_none() {
        return Ok(());
    }
    if !protection.resources.is_empty() && !protection.resources.contains(&ResourceChoice::Cpu) {
        bail!("--slo decides about the CPUs; add cpu to --resources");
    }
    let needed = Slo::longest_test();
    match longest_hold {
        Some(LongestHold::Off) => bail!(
            "--slo compares by holding the job, which --longest-hold off forbids; leave one of them out"
        ),
        Some(LongestHold::AtMost(longest)) if longest < needed => bail!(
            "--longest-hold {longest} is too short for --slo: of a value a second, a comparison needs {needed}; leave it out, or \
             give {needed} or more"
        ),
        _ => Ok(()),
    }
}

/// What is wanted of the job's memory; `is_unsaid`: nobody has said anything about it.
fn memory_aim(memory: &Memory, longest: Option<Nanos>, is_unsaid: bool) -> anyhow::Result<MemoryAim> {
    if memory.mem_batch.is_some_and(|batch| batch.0 == 0) {
        bail!("--mem-batch 0 takes nothing; name a size, like 4MiB");
    }
    Ok(MemoryAim {
        begins: if is_unsaid { Begins::WhenLarge } else { Begins::AtOnce },
        room: memory.thresholds.setting()?,
        batch_bytes: memory.mem_batch.map(|batch| batch.0),
        cleans: memory.mem_clean == CleanChoice::Auto,
        keeps_unused: memory.cache_keep.is_none(),
        cache_keep_bytes: memory.cache_keep.map_or(CACHE_KEEP_BYTES, |keep| keep.0),
        dirty_bytes: memory.dirty.0,
        longest_hold: longest.map(|longest| longest.min(LONGEST_DIRTY_HOLD)),
    })
}

/// Settings for a policy that holds the whole job.
fn held_by(given: Given, this: ThisRun) -> anyhow::Result<RunSettings> {
    let protection = &given.options.protection;
    let (policy, named) = (protection.policy, &protection.protect);
    if let Some(option) = given.of_idletime() {
        bail!("--{option} means nothing to --policy {}; leave one of them out", policy.name());
    }
    let protect = protect::find(named)?;
    if !protect.cgroup_ids.is_empty() || (!named.is_empty() && !matches!(policy, PolicyChoice::Smart(_))) {
        bail!("--protect: --policy smart takes process ids, --policy manners looks at the job alone");
    }
    let asked = given.options;
    Ok(RunSettings { asked, this, scope: Scope::None, io_uring: true, protect, ..RunSettings::default() })
}

#[cfg(test)]
pub(crate) mod tests;
