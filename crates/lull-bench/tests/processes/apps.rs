//! Small measurements of applications: one that is killed and goes on, and one that can measure nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lull_bench::record::{self, Record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Outcome, ensure, eventually};

/// How long compilers may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(150);

/// A person who edits and compiles, beside two compressors, as short as can be.
const ARGS: [&str; 19] = [
    "apps",
    "--no-install",
    "--foreground",
    "edit",
    "--background",
    "bzip2",
    "--instances",
    "2",
    "--contenders",
    "none",
    "--rounds",
    "2",
    "--seconds",
    "0.3",
    "--warmup",
    "0.1",
    "--tree-size",
    "64KiB",
    "--seed=5",
];

fn bench(directory: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(ARGS).arg("--out").arg(directory.join("out")).arg("--dir").arg(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Ok(command)
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// Processes whose command line names the directory.
fn named(directory: &Path) -> usize {
    let wanted = directory.to_string_lossy().into_owned();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("cmdline"))
            .is_ok_and(|text| String::from_utf8_lossy(&text).contains(&wanted))
    };
    entries.filter(names).count()
}

fn runs(out: &Path) -> Result<Vec<(String, u32)>, lull_bench::Error> {
    let run = |record: Record| match record {
        Record::Run(run) => Some((run.contender, run.round)),
        _ => None,
    };
    Ok(record::read(out)?.into_iter().filter_map(run).collect())
}

pub(super) fn a_killed_measurement_goes_on() -> Outcome {
    if let Some(missing) = ["gcc", "make", "bzip2"].into_iter().find(|program| !has(program)) {
        println!("SKIPPED: no {missing}");
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("out");
    let mut first = bench(dir.path())?.spawn()?;
    let began = Instant::now();
    while !runs(&out).is_ok_and(|runs| runs.len() >= 2) {
        ensure(began.elapsed() < PATIENCE, "no two runs were recorded")?;
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(i32::try_from(first.id())?), Signal::SIGKILL)?;
    first.wait()?;
    eventually("everything that it had started is gone", || named(dir.path()) == 0)?;
    let before = runs(&out)?;
    let second = bench(dir.path())?.output()?;
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    ensure(second.status.success(), told.clone())?;
    ensure(told.contains(&format!("{} of 6 runs there already", before.len())), told)?;
    let mut after = runs(&out)?;
    ensure(after.starts_with(&before), format!("{before:?} became {after:?}"))?;
    after.sort();
    let each =
        ["alone", "none", "solo"].iter().flat_map(|name| [1, 2].map(|round| ((*name).to_owned(), round)));
    ensure(after.iter().cloned().eq(each), format!("not each once: {after:?}"))?;
    let page = fs::read_to_string(out.join("report.html"))?;
    ensure(page.contains("edit-bzip2-2") && page.contains("bzip2 -c"), page)?;
    eventually("everything that it had started is gone", || named(dir.path()) == 0)
}

pub(super) fn nothing_measured_is_no_success() -> Outcome {
    let dir = tempfile::tempdir()?;
    let output = bench(dir.path())?.env("PATH", "/nonexistent").output()?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure(!output.status.success(), "it succeeded")?;
    ensure(told.lines().last().is_some_and(|line| line.contains("anything to report is missing")), told)
}
