//! Choosing and starting the sensors, one per disk.

use lull_bpf::{BlockSensor, Protect, record::MAX_DEVICES};
use lull_core::{ControlSetting, Hold, HoldSetting, Nanos};
use lull_linux::clock;
use lull_linux::root::Root;
use lull_linux::sense::fallback::{FallbackSensor, JobIo};
use lull_linux::topology::{Disk as HostDisk, DiskKind, Topology};

use super::{Disk, DiskTraits, Sensor};
use crate::job_processes::JobProcesses;

/// What is wanted of the disks.
#[derive(Clone, Debug, Default)]
pub struct DiskAim {
    /// Whether they are lent in the gaps only; else none is observed.
    pub watches: bool,
    /// Those that are meant; empty: all.
    pub names: Vec<String>,
    /// Whether BPF programs may observe them.
    pub with_bpf: bool,
    /// What is foreground.
    pub protect: Protect,
    /// How each is controlled.
    pub control: ControlSetting,
    /// How the job is held for what reads around the request gate; `None`: it never is.
    pub hold: Option<HoldSetting>,
}

/// What was started.
pub struct Sensors {
    pub(super) disks: Vec<Disk>,
    pub(super) bpf: Option<BlockSensor>,
    /// For the summary.
    pub kind: &'static str,
    /// What could not be had, for a person.
    pub notes: Vec<String>,
}

impl Sensors {
    /// Whether BPF programs observe the disks.
    pub fn has_bpf(&self) -> bool {
        self.bpf.is_some()
    }
}

/// How often the job's processes are looked for.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);

/// Sectors are 512 bytes in sysfs, whatever the disk's own.
fn is_worth_watching(root: &Root, disk: &HostDisk) -> bool {
    let size: u64 = root.number(format!("/sys/block/{}/size", disk.name)).unwrap_or(0);
    size > 0 && disk.kind != DiskKind::Zram
}

/// Disks to be observed, those with hardware behind them first; all if none is named.
pub fn choose(names: &[String], notes: &mut Vec<String>) -> Vec<HostDisk> {
    let root = Root::real();
    let mut disks: Vec<HostDisk> =
        Topology::host().disks().into_iter().filter(|disk| is_worth_watching(&root, disk)).collect();
    if !names.is_empty() {
        disks.retain(|disk| names.contains(&disk.name));
    }
    disks.sort_by_key(|disk| disk.kind != DiskKind::Disk);
    if disks.len() > MAX_DEVICES {
        notes.push(format!(
            "only {MAX_DEVICES} of {} disks are observed; name the ones that matter with --disk",
            disks.len()
        ));
        disks.truncate(MAX_DEVICES);
    }
    disks
}

/// Starts a sensor for each disk: BPF where it may be loaded, else the kernel's counters.
pub fn start(aim: &DiskAim, job_processes: &JobProcesses) -> Sensors {
    let mut notes = Vec::new();
    let chosen = if aim.watches { choose(&aim.names, &mut notes) } else { Vec::new() };
    let mut bpf = match aim.watches && aim.with_bpf {
        true => BlockSensor::load_for(job_processes.job(), &aim.protect)
            .map_err(|error| notes.push(error.to_string()))
            .ok(),
        false => None,
    };
    let disks = chosen
        .iter()
        .filter_map(|disk| observed(disk, bpf.as_mut(), aim, job_processes, &mut notes))
        .collect();
    let kind = match (&bpf, aim.watches) {
        (Some(_), _) => "BPF block events",
        (None, true) => "/proc/diskstats",
        (None, false) => "none",
    };
    Sensors { disks, bpf, kind, notes }
}

fn observed(
    disk: &HostDisk,
    bpf: Option<&mut BlockSensor>,
    aim: &DiskAim,
    job_processes: &JobProcesses,
    notes: &mut Vec<String>,
) -> Option<Disk> {
    let root = Root::real();
    let queue = format!("/sys/block/{}/queue", disk.name);
    let rotational = root.number::<u32>(format!("{queue}/rotational")) == Some(1);
    let read_ahead_kib: u64 = root.number(format!("{queue}/read_ahead_kb")).unwrap_or(128);
    let has_bpf = bpf.is_some();
    let sensor = match bpf {
        Some(bpf) => match bpf.watch(disk.dev.major, disk.dev.minor) {
            Ok(device) => Sensor::Bpf(device),
            Err(error) => {
                notes.push(error.to_string());
                return None;
            }
        },
        None => Sensor::Fallback {
            sensor: Box::new(FallbackSensor::new(&disk.name, Root::real())),
            latest: lull_core::Observation::default(),
            due: Nanos::ZERO,
            job_io: job_io(job_processes.clone()),
        },
    };
    let hold = aim.hold.filter(|_| has_bpf).map(Hold::new);
    let traits = DiskTraits {
        name: disk.name.clone(),
        dev: disk.dev,
        rotational,
        read_ahead_bytes: read_ahead_kib * 1024,
    };
    Some(Disk::new(traits, sensor, aim.control, hold, clock::now()))
}

/// Sums up the I/O of the job's processes. Finding them costs far more than reading their accounts, so that those that
/// were found are read for a while.
fn job_io(job_processes: JobProcesses) -> Box<dyn FnMut() -> JobIo + Send> {
    let (mut pids, mut looked) = (job_processes.pids(), clock::now());
    Box::new(move || {
        let now = clock::now();
        if now.since(looked) >= LOOK_EVERY {
            (pids, looked) = (job_processes.pids(), now);
        }
        JobIo::of_processes(&Root::real(), pids.iter().copied())
    })
}

#[cfg(test)]
mod tests;
