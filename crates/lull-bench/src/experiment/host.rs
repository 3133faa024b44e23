//! Facts of the machine, saved with every measurement.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use lull_linux::probe::{CgroupFacts, cpu};
use lull_linux::root::Root;
use nix::sys::stat::{major, minor, stat};

use crate::contender::scheduler::{self, SYS_BLOCK};
use crate::process::Program;
use crate::record::Host;

/// Looks at the machine; what cannot be found out is left empty.
pub fn look(directory: &Path, program: &Program, seed: u64) -> Host {
    let disk = disk_of(directory);
    let queue = |name: &str| {
        let path = PathBuf::from(SYS_BLOCK).join(disk.as_deref()?).join("queue").join(name);
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    Host {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        cpu: cpu_model().unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(0, usize::from),
        ram_bytes: memory_bytes().unwrap_or(0),
        scheduler: disk.as_deref().and_then(|disk| scheduler::current(Path::new(SYS_BLOCK), disk)),
        rotational: queue("rotational").map(|text| text == "1"),
        disk,
        root: nix::unistd::geteuid().is_root(),
        awake: false,
        autogroup: Some(autogroup_applies()),
        terms: BTreeMap::new(),
        version: program
            .run
            .first()
            .and_then(|exe| output(Command::new(exe).arg("--version")))
            .unwrap_or_default(),
        commit: output(Command::new("git").args(["rev-parse", "--short", "HEAD"])),
        seed,
    }
}

/// Whether processes that the harness starts are scheduled by session.
fn autogroup_applies() -> bool {
    let root = Root::real();
    cpu::autogroup(&root, &CgroupFacts::read(&root, false)).applies
}

/// The whole disk behind a directory, as named under `/sys/block`; none on overlay, network and memory file
/// systems and where a file system spans disks.
pub fn disk_of(directory: &Path) -> Option<String> {
    let device = stat(directory).ok()?.st_dev;
    let link = PathBuf::from(format!("/sys/dev/block/{}:{}", major(device), minor(device)));
    let place = fs::canonicalize(link).ok()?;
    let whole = if place.join("partition").exists() { place.parent()? } else { place.as_path() };
    Some(whole.file_name()?.to_string_lossy().into_owned())
}

/// What a disk has written since it appeared.
pub fn written_bytes(disk: &str) -> Option<u64> {
    /// Bytes of a sector in the kernel's statistics, whatever the disk's are.
    const SECTOR: u64 = 512;
    let text = fs::read_to_string(PathBuf::from(SYS_BLOCK).join(disk).join("stat")).ok()?;
    Some(text.split_whitespace().nth(6)?.parse::<u64>().ok()? * SECTOR)
}

fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Main memory.
pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().next()?.trim().to_owned())
}
