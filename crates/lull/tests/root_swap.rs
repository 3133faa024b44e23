//! Giving memory to the foreground with each kind of swap, and with none. The tests make their own devices and files and
//! take them away; what this kernel does not have is skipped aloud.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::small::{EXE, MIB, Small, awake_job, job, summary_of};
use common::{finish, needs_root, new_marker, send, spawn_marked, wait_until};
use lull_bench::contender::setting::SwapFile;
use lull_core::base::bytes::Bytes;
use lull_core::memory::pages::Run;
use lull_linux::gate::evict::{evict, page_bytes};

const SWAP_BYTES: u64 = 512 * MIB;
const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";
const ZRAM_CONTROL: &str = "/sys/class/zram-control";

fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Says aloud what is missing.
fn or_skip<T, E: std::fmt::Display>(made: Result<T, E>) -> Option<T> {
    made.map_err(|error| eprintln!("SKIPPED: {error}")).ok()
}

/// Says aloud where the machine itself swaps.
fn is_without_swap() -> bool {
    let in_use = std::fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1;
    if in_use {
        eprintln!("SKIPPED: this machine swaps");
    }
    !in_use
}

/// A zram device of its own that is swapped to; gone when dropped.
struct Zram {
    number: String,
}

impl Zram {
    fn add() -> Result<Self, String> {
        let failed = |what: &str| format!("zram: {what} is not possible here");
        // Reading the file makes a device.
        let number = std::fs::read_to_string(Path::new(ZRAM_CONTROL).join("hot_add"))
            .map_err(|_| failed("a device of its own"))?;
        let zram = Self { number: number.trim().to_owned() };
        std::fs::write(zram.attribute("disksize"), SWAP_BYTES.to_string()).map_err(|_| failed("a size"))?;
        for tool in ["mkswap", "swapon"] {
            let done = Command::new(tool).arg(zram.device()).output().map_err(|_| failed(tool))?;
            if !done.status.success() {
                return Err(failed(tool));
            }
        }
        Ok(zram)
    }

    fn device(&self) -> PathBuf {
        PathBuf::from(format!("/dev/zram{}", self.number))
    }

    fn attribute(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/zram{}/{name}", self.number))
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let swaps = std::fs::read_to_string("/proc/swaps").unwrap();
        if swaps.lines().any(|line| line.split_whitespace().next() == self.device().to_str()) {
            assert!(Command::new("swapoff").arg(self.device()).status().unwrap().success());
        }
        std::fs::write(self.attribute("reset"), "1").unwrap();
        std::fs::write(Path::new(ZRAM_CONTROL).join("hot_remove"), &self.number).unwrap();
    }
}

/// Compressed swap in front of the swap file, as it was before when dropped.
struct Zswap {
    before: String,
}

impl Zswap {
    fn enable() -> Result<Self, String> {
        let missing = |_| "this kernel has no zswap that can be turned on".to_owned();
        let before = std::fs::read_to_string(ZSWAP).map_err(missing)?;
        std::fs::write(ZSWAP, "Y").map_err(missing)?;
        Ok(Self { before: before.trim().to_owned() })
    }
}

impl Drop for Zswap {
    fn drop(&mut self) {
        std::fs::write(ZSWAP, &self.before).unwrap();
    }
}

/// What the kernel's out-of-memory killer has taken on this machine.
fn processes_killed_for_memory() -> u64 {
    let counts = std::fs::read_to_string("/proc/vmstat").unwrap();
    let count = counts.lines().find_map(|line| line.strip_prefix("oom_kill ")).unwrap();
    count.parse().unwrap()
}

/// A foreground that comes second wants 64 MiB of 96 and gets them from a job that has 48; both go on. Where the machine
/// takes lull's CPU away, the kernel's own reclaim is first, or its killer, but not every time.
fn foreground_gets_the_jobs_memory(small: &Small) {
    let mut tries = (0..5).map(|_| given_to_a_foreground(small));
    assert!(tries.any(|given| given >= 16 * MIB), "lull never gave memory");
}

/// What lull gave of the job's memory in one such encounter, in bytes.
fn given_to_a_foreground(small: &Small) -> u64 {
    let dir = place();
    let summary = dir.path().join("summary");
    let killed = processes_killed_for_memory();
    let mut child = job(small, "48MiB", &summary);
    let has = || small.of_job().and_then(|group| group.usage()).unwrap_or(0);
    wait_until("the job's working set", || has() >= 48 * MIB);
    let words = [EXE, "load", "mem-work", "--memory", "64MiB", "--json"];
    let foreground = small.command(&words).spawn().unwrap();
    wait_until("the job to have given", || has() <= 32 * MIB);
    let given = || small.0.as_ref().and_then(|group| group.usage()).unwrap_or(0) - has() >= 64 * MIB;
    wait_until("the foreground to have got it", given);
    let lives = child.try_wait().unwrap().is_none();
    send(foreground.id(), libc::SIGTERM);
    assert!(finish(foreground).status.success(), "the foreground lives");
    send(child.id(), libc::SIGTERM);
    let ended = finish(child);
    if !lives {
        assert!(processes_killed_for_memory() > killed, "nobody killed the job: {ended:?}");
        return 0;
    }
    summary_of(&summary)["memory"]["given_bytes"].as_u64().unwrap()
}

#[test]
fn root_a_job_gives_memory_to_a_swap_file() {
    let Some(small) = Small::machine(96 * MIB) else { return };
    let dir = place();
    let Some(_swap) = or_skip(SwapFile::add(dir.path(), Bytes(SWAP_BYTES))) else { return };
    foreground_gets_the_jobs_memory(&small);
}

#[test]
fn root_a_job_gives_memory_to_zram() {
    let Some(small) = Small::machine(96 * MIB) else { return };
    let Some(_swap) = or_skip(Zram::add()) else { return };
    foreground_gets_the_jobs_memory(&small);
}

#[test]
fn root_a_job_gives_memory_to_zswap() {
    let Some(small) = Small::machine(96 * MIB) else { return };
    let dir = place();
    let Some(_swap) = or_skip(SwapFile::add(dir.path(), Bytes(SWAP_BYTES))) else { return };
    let Some(_zswap) = or_skip(Zswap::enable()) else { return };
    foreground_gets_the_jobs_memory(&small);
}

#[test]
fn root_memory_is_written_to_swap_before_anybody_needs_it() {
    let Some(small) = Small::machine(96 * MIB) else { return };
    let dir = place();
    let Some(_swap) = or_skip(SwapFile::add(dir.path(), Bytes(SWAP_BYTES))) else { return };
    if std::fs::read_to_string(ZSWAP).is_ok_and(|on| on.trim() == "Y") {
        eprintln!("SKIPPED: zswap is on");
        return;
    }
    let run = |resources: &str, clean: &str, summary: &Path| {
        let mut words = vec![EXE, "run", "--quiet", "--resources", resources, "--mem-clean", clean, "--json"];
        words.extend(["--summary", summary.to_str().unwrap(), "--"]);
        // Fills 64 MiB and leaves it alone, as nobody reads its output; pages of zeroes would not be written.
        words.extend(["dd", "if=/dev/urandom", "bs=64M", "count=1", "iflag=fullblock", "status=none"]);
        spawn_marked(small.command(&words).env("XDG_CONFIG_HOME", "/nonexistent"), &new_marker())
    };
    let stat = || small.of_job().and_then(|group| group.stat()).unwrap_or_default();
    let has = || small.of_job().and_then(|group| group.usage()).unwrap_or(0);
    let summary = dir.path().join("summary");
    let laundered = || {
        let mut child = run("disk,memory", "auto", &summary);
        // What is clean counts as the job's as long as it stays in memory.
        wait_until("the job's memory to be clean", || {
            stat().swap_cached.is_some_and(|bytes| bytes >= 8 * MIB)
        });
        assert!(child.try_wait().unwrap().is_none(), "the job lives");
        send(child.id(), libc::SIGTERM);
        finish(child);
        summary_of(&summary)["memory"]["laundered_bytes"].as_u64().unwrap()
    };
    // On so small a machine the kernel may have written it first.
    assert!((0..5).any(|_| laundered() > 0), "five times");

    // Not wanted; and with nobody to tell when the disk is idle.
    for (resources, clean) in [("disk,memory", "never"), ("memory", "auto")] {
        let child = run(resources, clean, &summary);
        wait_until("the job's working set", || has() >= 64 * MIB);
        // Longer than it takes to look.
        std::thread::sleep(std::time::Duration::from_millis(600));
        send(child.id(), libc::SIGTERM);
        finish(child);
        let memory = summary_of(&summary)["memory"].clone();
        assert_eq!(memory["laundered_bytes"].as_u64(), Some(0), "{resources} {clean}: {memory}");
    }
}

#[test]
fn root_without_swap_a_job_gives_its_page_cache_and_lives() {
    if !needs_root() || !is_without_swap() {
        return;
    }
    let Some(small) = Small::machine(96 * MIB) else { return };
    let dir = place();
    let data = dir.path().join("data");
    std::fs::write(&data, vec![7; usize::try_from(48 * MIB).unwrap()]).unwrap();
    let file = std::fs::File::open(&data).unwrap();
    file.sync_all().unwrap();
    let pages = 48 * MIB / page_bytes();
    assert_eq!(evict(&file, 0, Run { first: 0, pages }).unwrap().left, 0);
    let script = format!("cat {} > /dev/null; exec sleep 1000", data.display());
    let mut words = vec![EXE, "run", "--quiet", "--resources", "memory", "--cache-keep", "128MiB"];
    words.extend(["--", "sh", "-c", &script]);
    let mut child = spawn_marked(&mut small.command(&words), &new_marker());
    let has = || small.of_job().and_then(|group| group.stat()).map_or(0, |stat| stat.file);
    wait_until("the job's page cache", || has() >= 40 * MIB);
    let words = [EXE, "load", "mem-work", "--memory", "64MiB", "--json"];
    let foreground = small.command(&words).spawn().unwrap();
    wait_until("the job's page cache to have gone", || has() <= 24 * MIB);
    assert!(child.try_wait().unwrap().is_none(), "the job lives");
    send(foreground.id(), libc::SIGTERM);
    assert!(finish(foreground).status.success(), "the foreground lives");
    send(child.id(), libc::SIGTERM);
    finish(child);
}

#[test]
fn root_a_job_that_has_nothing_to_give_is_not_held_for_it() {
    /// How long memory is short.
    const SHORT: std::time::Duration = std::time::Duration::from_secs(6);
    if !needs_root() || !is_without_swap() {
        return;
    }
    let Some(small) = Small::machine(512 * MIB) else { return };
    let dir = place();
    let summary = dir.path().join("summary");
    let used = || small.0.as_ref().and_then(|group| group.usage()).unwrap_or(0);
    let words = [EXE, "load", "mem-work", "--memory", "200MiB", "--ready", "--json"];
    let foreground = small.command(&words).spawn().unwrap();
    wait_until("the foreground's working set", || used() >= 200 * MIB);
    let child = awake_job(&small, "128MiB", &summary);
    let has = || small.of_job().and_then(|group| group.usage()).unwrap_or(0);
    wait_until("the job's working set", || has() >= 128 * MIB);
    std::thread::sleep(std::time::Duration::from_secs(1));
    // Half of the reserve is free from now on, and no page of the job can go.
    small.0.as_ref().unwrap().set_limit(Some(used() + 5 * MIB)).unwrap();
    std::thread::sleep(SHORT);
    // With the foreground's memory the job ends sooner.
    for child in [foreground, child] {
        send(child.id(), libc::SIGTERM);
        finish(child);
    }
    let summary = summary_of(&summary);
    let of = |name: &str| summary[name].as_u64().unwrap();
    assert!(of("held_ns") > 0, "memory was short: {summary}");
    assert!(u128::from(of("held_ns")) < SHORT.as_nanos() / 3, "not most of the time: {summary}");
}
