//! Choosing and starting the sensors, one per disk.

use lull_bpf::{BlockSensor, record::MAX_DEVICES};
use lull_core::{Hold, Nanos};
use lull_linux::clock;
use lull_linux::root::Root;
use lull_linux::sense::fallback::{FallbackSensor, JobIo};
use lull_linux::topology::{Disk as HostDisk, DiskKind, Topology};

use super::disk::{Disk, DiskTraits, Sensor};
use super::family::Family;
use super::settings::{RunSettings, SensorChoice};

/// What was started.
pub(crate) struct Sensors {
    pub(crate) disks: Vec<Disk>,
    pub(crate) bpf: Option<BlockSensor>,
    /// For the summary.
    pub(crate) kind: &'static str,
    pub(crate) notes: Vec<String>,
    /// What was asked for and could not be had.
    pub(crate) unmet: Vec<String>,
}

/// How often the job's processes are looked for.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);

/// Sectors are 512 bytes in sysfs, whatever the disk's own.
fn is_worth_watching(root: &Root, disk: &HostDisk) -> bool {
    let size: u64 = root.number(format!("/sys/block/{}/size", disk.name)).unwrap_or(0);
    size > 0 && disk.kind != DiskKind::Zram
}

/// Disks to be observed, those with hardware behind them first; all if none is named.
pub(crate) fn choose(names: &[String], notes: &mut Vec<String>) -> Vec<HostDisk> {
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
pub(crate) fn start(settings: &RunSettings, family: &Family) -> Sensors {
    let mut notes = Vec::new();
    let chosen = if settings.watches_disks { choose(&settings.disks, &mut notes) } else { Vec::new() };
    let mut bpf = match settings.sensor {
        SensorChoice::Auto | SensorChoice::Bpf if settings.watches_disks => {
            BlockSensor::load_for(family.job(), &settings.protect)
                .map_err(|error| notes.push(error.to_string()))
                .ok()
        }
        _ => None,
    };
    let disks =
        chosen.iter().filter_map(|disk| observed(disk, bpf.as_mut(), settings, family, &mut notes)).collect();
    let kind = match (&bpf, settings.watches_disks) {
        (Some(_), _) => "BPF block events",
        (None, true) => "/proc/diskstats",
        (None, false) => "none",
    };
    let mut unmet = Vec::new();
    if bpf.is_none() && settings.watches_disks {
        if settings.sensor == SensorChoice::Bpf {
            unmet.push(
                "--sensor bpf: no BPF program may be loaded here, /proc/diskstats serves instead; `lull doctor` says why"
                    .to_owned(),
            );
        }
        if !settings.protect.is_everything() {
            unmet.push("--protect needs the BPF sensor: all other work counts as foreground".to_owned());
        }
    }
    Sensors { disks, bpf, kind, notes, unmet }
}

fn observed(
    disk: &HostDisk,
    bpf: Option<&mut BlockSensor>,
    settings: &RunSettings,
    family: &Family,
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
            job_io: job_io(family.clone()),
        },
    };
    let hold = settings.hold.filter(|_| has_bpf).map(Hold::new);
    let traits = DiskTraits {
        name: disk.name.clone(),
        dev: disk.dev,
        rotational,
        read_ahead_bytes: read_ahead_kib * 1024,
    };
    Some(Disk::new(traits, sensor, settings.control, hold, clock::now()))
}

/// Sums up the I/O of the job's processes. Finding them costs far more than reading their accounts, so that those that
/// were found are read for a while.
fn job_io(family: Family) -> Box<dyn FnMut() -> JobIo + Send> {
    let (mut pids, mut looked) = (family.pids(), clock::now());
    Box::new(move || {
        let now = clock::now();
        if now.since(looked) >= LOOK_EVERY {
            (pids, looked) = (family.pids(), now);
        }
        JobIo::of_processes(&Root::real(), pids.iter().copied())
    })
}
