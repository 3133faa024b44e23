//! Whole processes: loads that are stopped, the slow disk through `kill -9`, small measurements.
//!
//! The test program is its own load generator: with a subcommand as first argument it behaves like `lull load …` or
//! `lull bench disk …`, `lull bench cpu …`, `lull bench memory …`, `lull bench apps …`, or holds a test network, else it runs the tests. Tests that need root or a device say `SKIPPED` and why.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use libtest_mimic::{Arguments, Failed, Trial};
use lull_bench::load::{LoadLine, LoadReport};
use lull_bench::process::{Options, Proc, Program, lines};
use lull_bench::record::{self, Record};
use lull_bench::slowdisk::{self, SlowDisk};
use lull_bench::units::Bytes;
use lull_bench::{
    AppsArgs, CpuArgs, DiskArgs, LoadCommand, MemoryArgs, run_apps, run_cpu, run_disk, run_load, run_memory,
};
use nix::sys::signal::{Signal, kill};

mod apps;
mod cpu;
mod memory;
mod netbed;

/// After this long a test takes something for lost: a CPU may be gone for seconds on a busy machine.
const HANG: Duration = Duration::from_secs(60);

type Outcome = Result<(), Box<dyn Error>>;
type Test = (&'static str, fn() -> Outcome);

#[derive(Parser)]
enum Command {
    #[command(subcommand)]
    Load(LoadCommand),
    Disk(Box<DiskArgs>),
    Cpu(Box<CpuArgs>),
    Memory(Box<MemoryArgs>),
    Apps(Box<AppsArgs>),
    Bed,
}

fn program() -> Result<Program, Box<dyn Error>> {
    Ok(Program::new(std::env::current_exe()?))
}

fn main() -> ExitCode {
    let first = std::env::args().nth(1).unwrap_or_default();
    if !["load", "disk", "cpu", "memory", "apps", "bed"].contains(&first.as_str()) {
        return libtest_mimic::run(&Arguments::from_args(), trials()).exit_code();
    }
    let result = match Command::parse() {
        Command::Load(command) => run_load(command).map_err(Into::into),
        Command::Disk(args) => program().and_then(|program| run_disk(&args, &program).map_err(Into::into)),
        Command::Cpu(args) => program().and_then(|program| run_cpu(&args, &program).map_err(Into::into)),
        Command::Memory(args) => {
            program().and_then(|program| run_memory(&args, &program).map_err(Into::into))
        }
        Command::Apps(args) => program().and_then(|program| run_apps(&args, &program).map_err(Into::into)),
        Command::Bed => netbed::hold_a_network(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            error
                .downcast_ref()
                .map_or(ExitCode::FAILURE, |error: &lull_bench::Error| error.exit_status().into())
        }
    }
}

fn trials() -> Vec<Trial> {
    let tests: [Test; 20] = [
        ("a_stopped_load_still_reports", a_stopped_load_still_reports),
        ("every_load_prints_one_json_line", every_load_prints_one_json_line),
        ("a_small_measurement_leaves_records_and_reports", a_small_measurement),
        ("every_foreground_load_of_the_cpu_prints_one_json_line", cpu::every_cpu_foreground_reports),
        ("hogs_on_a_leash_end_with_their_owner", cpu::leashed_hogs_end),
        ("a_small_cpu_measurement_leaves_records_and_reports", cpu::a_small_cpu_measurement),
        ("root_contenders_in_groups_are_measured_and_leave_no_group", cpu::contenders_in_groups),
        ("root_an_interrupted_cpu_measurement_leaves_nothing", cpu::an_interrupted_cpu_measurement),
        (
            "root_a_small_memory_measurement_leaves_records_and_nothing_else",
            memory::a_small_memory_measurement,
        ),
        ("a_killed_measurement_of_applications_goes_on", apps::a_killed_measurement_goes_on),
        ("a_measurement_of_nothing_is_no_success", apps::nothing_measured_is_no_success),
        ("root_a_network_joins_two_hosts_and_nothing_else", netbed::joins_two_hosts),
        ("root_a_delay_counts_in_both_directions", netbed::delays_both_ways),
        ("root_a_network_may_send_lower_effort_last", netbed::sends_lower_effort_last),
        ("root_a_network_may_tell_background_by_its_address", netbed::tells_background_by_its_address),
        ("root_a_killed_network_leaves_nothing", netbed::a_killed_network_leaves_nothing),
        ("the_slow_disk_serves_and_goes", the_slow_disk_serves_and_goes),
        ("a_killed_slow_disk_daemon_leaves_nothing", a_killed_daemon_leaves_nothing),
        ("a_killed_slow_disk_harness_leaves_nothing", a_killed_harness_leaves_nothing),
        ("an_interrupted_measurement_leaves_nothing", an_interrupted_measurement_leaves_nothing),
    ];
    let wrap = |(name, test): Test| {
        Trial::test(name, move || test().map_err(|error| Failed::from(error.to_string())))
    };
    tests.into_iter().map(wrap).collect()
}

fn ensure(condition: bool, message: impl Into<String>) -> Outcome {
    if condition { Ok(()) } else { Err(message.into().into()) }
}

/// Tries until `done`, for what the kernel or another process does in its own time.
fn eventually(what: &str, mut done: impl FnMut() -> bool) -> Outcome {
    let limit = Instant::now() + HANG;
    while !done() {
        ensure(Instant::now() < limit, format!("still not after {HANG:?}: {what}"))?;
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn total(line: &str) -> Result<LoadReport, Box<dyn Error>> {
    match serde_json::from_str(line)? {
        LoadLine::Total(report) => Ok(report),
        other => Err(format!("{other:?} where the total should be").into()),
    }
}

fn data(dir: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let path = dir.join("data");
    fs::write(&path, vec![7_u8; 1 << 20])?;
    Ok(path)
}

fn a_stopped_load_still_reports() -> Outcome {
    let dir = tempfile::tempdir()?;
    let file = data(dir.path())?;
    for load in ["disk-read", "disk-random", "disk-aio", "disk-stream"] {
        report_of_stopped(&[load.as_ref(), "--json".as_ref(), "--file".as_ref(), file.as_os_str()])?;
    }
    // Stopped in its warm-up.
    let pgbench = dir.path().join("pgbench");
    fs::write(&pgbench, "#!/bin/sh\nexec sleep 60\n")?;
    fs::set_permissions(&pgbench, fs::Permissions::from_mode(0o755))?;
    let words =
        ["app-pgbench", "--json", "--socket", "/nowhere", "--port", "1", "--warmup", "1min", "--pgbench"];
    let mut args: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    args.push(pgbench.as_os_str());
    let report = report_of_stopped(&args)?;
    ensure((report.requests, report.seconds) == (0, 0.0), format!("{report:?}"))
}

/// What a load reports that is stopped as soon as it listens.
fn report_of_stopped(args: &[&OsStr]) -> Result<LoadReport, Box<dyn Error>> {
    let load = args[0].to_string_lossy();
    let (mut process, stdout) = Proc::spawn(&program()?.load_argv(args), Options::default())?;
    // The handlers are in place once SIGTERM is among the caught signals.
    let status = format!("/proc/{}/status", process.pid());
    eventually("the load catches SIGTERM", || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim();
        u64::from_str_radix(caught, 16).unwrap_or(0) >> (libc::SIGTERM - 1) & 1 == 1
    })?;
    ensure(process.stop()?.status.success(), format!("{load} failed"))?;
    let output: Vec<String> = lines(stdout).iter().collect();
    ensure(output.len() == 1, format!("{load} printed {output:?}"))?;
    let report = total(&output[0])?;
    ensure(report.load == load, format!("{load} printed {output:?}"))?;
    Ok(report)
}

fn every_load_prints_one_json_line() -> Outcome {
    let dir = tempfile::tempdir()?;
    let file = data(dir.path())?;
    for load in ["disk-read", "disk-random", "disk-aio", "disk-stream"] {
        let mut args = vec![load.to_owned(), "--file".to_owned(), file.display().to_string()];
        args.extend(["--block", "8KiB", "--requests", "300", "--json"].map(str::to_owned));
        let (mut process, stdout) = Proc::spawn(&program()?.load_argv(args), Options::default())?;
        let output: Vec<String> = lines(stdout).iter().collect();
        ensure(process.wait()?.status.success(), format!("{load} failed"))?;
        let report = total(output.last().ok_or("no output")?)?;
        let counts = (output.len(), report.requests, report.bytes);
        ensure(counts == (1, 300, 300 * 8192), format!("{load}: {output:?}"))?;
    }
    Ok(())
}

fn a_small_measurement() -> Outcome {
    let dir = tempfile::tempdir()?;
    let args = [
        "disk",
        "--cases",
        "parallel,sequential,quiet",
        "--contenders",
        "none,nice+ionice",
        "--rounds",
        "2",
        "--seconds",
        "0.2",
        "--warmup",
        "0",
        "--data-size",
        "4MiB",
        "--tree-size",
        "8MiB",
        "--compile-units",
        "1",
        "--clean",
        "--dir",
    ];
    let mut argv = vec![std::env::current_exe()?.into_os_string()];
    argv.extend(args.map(Into::into));
    argv.extend([dir.path().into(), "--out".into(), dir.path().join("out").into_os_string()]);
    let (mut process, stdout) = Proc::spawn(&argv, Options::default())?;
    let text: Vec<String> = lines(stdout).iter().collect();
    if !process.wait()?.status.success() {
        return Err(process.failed("the measurement failed").into());
    }
    let records = record::read(&dir.path().join("out"))?;
    let unmet: Vec<_> = records.iter().filter(|record| matches!(record, Record::Unmet(_))).collect();
    for (case, contenders) in [("parallel", 4), ("sequential", 4), ("quiet-start", 1)] {
        let runs =
            records.iter().filter(|record| matches!(record, Record::Run(run) if run.case == case)).count();
        ensure(runs == 2 * contenders, format!("{case}: {runs} runs; unmet: {unmet:?}"))?;
    }
    ensure(text.iter().any(|line| line.contains("nice+ionice")), text.join("\n"))?;
    ensure(dir.path().join("out/parallel.svg").exists(), "no picture")?;
    ensure(!dir.path().join("lull-bench-data").exists(), "the data files are still there")
}

/// Whether the slow disk can be had; says so if not.
fn possible() -> bool {
    let obstacle = slowdisk::obstacle();
    if let Some(why) = &obstacle {
        eprintln!("SKIPPED: {why}");
    }
    obstacle.is_none()
}

/// Where the kernel tells a loop device's file while it is attached.
fn backing(device: &str) -> PathBuf {
    PathBuf::from(format!("/sys/block/{device}/loop/backing_file"))
}

fn gone(process: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

fn the_slow_disk_serves_and_goes() -> Outcome {
    if !possible() {
        return Ok(());
    }
    let disk = SlowDisk::start(&program()?, Some(Bytes(Bytes::GIB)))?;
    let (name, daemon) = (disk.name(), disk.daemon().as_raw());
    let device = fs::OpenOptions::new().read(true).write(true).open(disk.path())?;
    device.write_all_at(b"kept in the middle", 512 << 20)?;
    device.sync_all()?;
    let mounts = fs::read_to_string("/proc/mounts")?;
    ensure(!mounts.contains("lull-slow-disk"), "the mount is visible outside the daemon")?;
    // The page cache keeps what was written: read past it.
    drop(device);
    let mut bytes = vec![0; 18];
    fs::File::open(disk.path())?.read_exact_at(&mut bytes, 512 << 20)?;
    ensure(bytes == b"kept in the middle", format!("{bytes:?}"))?;

    let path = disk.path().display().to_string();
    let args = ["disk-read", "--random", "--direct", "--requests", "5", "--json", "--file", &path];
    let (mut process, stdout) = Proc::spawn(&program()?.load_argv(args), Options::default())?;
    let output: Vec<String> = lines(stdout).iter().collect();
    ensure(process.wait()?.status.success(), "the reader failed")?;
    ensure(total(output.last().ok_or("no output")?)?.requests == 5, format!("{output:?}"))?;

    drop(disk);
    eventually("the loop device is detached", || !backing(&name).exists())?;
    ensure(gone(daemon), "the daemon still runs")
}

fn a_killed_daemon_leaves_nothing() -> Outcome {
    if !possible() {
        return Ok(());
    }
    let disk = SlowDisk::start(&program()?, Some(Bytes(Bytes::GIB)))?;
    let name = disk.name();
    kill(disk.daemon(), Signal::SIGKILL)?;
    let path = disk.path().display().to_string();
    eventually("reads fail", || {
        let args = ["disk-read", "--random", "--direct", "--requests", "1", "--json", "--file", &path];
        let Ok(program) = program() else { return false };
        let Ok((mut process, _stdout)) = Proc::spawn(&program.load_argv(args), Options::default()) else {
            return false;
        };
        process.wait().is_ok_and(|exit| !exit.status.success())
    })?;
    drop(disk);
    eventually("the loop device is detached", || !backing(&name).exists())?;
    ensure(!fs::read_to_string("/proc/mounts")?.contains("lull-slow-disk"), "still mounted")
}

/// The only child of a process.
fn child_of(process: i32) -> Result<i32, Box<dyn Error>> {
    let path = format!("/proc/{process}/task/{process}/children");
    Ok(fs::read_to_string(path)?.split_whitespace().next().ok_or("no child")?.parse()?)
}

fn a_killed_harness_leaves_nothing() -> Outcome {
    if !possible() {
        return Ok(());
    }
    let argv = program()?.load_argv(["slow-disk", "--size", "1GiB"]);
    let (mut harness, stdout) = Proc::spawn(&argv, Options::default())?;
    let device = lines(stdout).recv_timeout(HANG)?;
    let name = device.trim_start_matches("/dev/").to_owned();
    ensure(backing(&name).exists(), format!("{device} is not attached"))?;
    let daemon = child_of(harness.pid().as_raw())?;
    kill(harness.pid(), Signal::SIGKILL)?;
    harness.wait()?;
    eventually("the loop device is detached", || !backing(&name).exists())?;
    eventually("the daemon has ended", || gone(daemon))
}

fn an_interrupted_measurement_leaves_nothing() -> Outcome {
    if !possible() {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("out");
    let args = [
        "disk",
        "--cases",
        "slow",
        "--contenders",
        "none",
        "--intensities",
        "50",
        "--slow-seconds",
        "1000",
        "--warmup",
        "0",
        "--dir",
    ];
    let mut argv = vec![std::env::current_exe()?.into_os_string()];
    argv.extend(args.map(Into::into));
    argv.extend([dir.path().into(), "--out".into(), out.clone().into_os_string()]);
    let (mut harness, stdout) = Proc::spawn(&argv, Options::default())?;
    let pid = harness.pid().as_raw();
    let children = || fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    // The slow disk's daemon and at least one load are running.
    eventually("a run has begun", || children().split_whitespace().count() >= 2)?;
    let processes: Vec<i32> = children().split_whitespace().filter_map(|text| text.parse().ok()).collect();
    harness.terminate();
    let exit = harness.wait()?;
    ensure(exit.status.code() == Some(128 + libc::SIGTERM), format!("{}", exit.status))?;
    drop(stdout);
    for process in processes {
        eventually("every started process has ended", || gone(process))?;
    }
    let records = record::read(&out)?;
    ensure(matches!(records.first(), Some(Record::Host(_))), format!("{records:?}"))
}
