//! Loads and measurements of `lull bench cpu`.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lull_bench::contender::Contender;
use lull_bench::contender::group::{CpuGroup, Purpose};
use lull_bench::contender::known::CPU;
use lull_bench::experiment::ledger::shuffled;
use lull_bench::process::{Options, Proc, lines};
use lull_bench::record::{self, Record};
use nix::sys::signal::{Signal, kill};

use super::{Outcome, ensure, eventually, gone, program, total};

pub(super) fn every_cpu_foreground_reports() -> Outcome {
    for (load, flags) in [
        ("cpu-serve", ["--reads", "10"]),
        ("cpu-wakeup", ["--interval", "1ms"]),
        ("cpu-spin", ["--threads", "1"]),
    ] {
        let mut args = vec![load, "--seconds", "0.5", "--warmup", "10ms", "--json"];
        args.extend(flags);
        let (mut process, stdout) = Proc::spawn(&program()?.load_argv(args), Options::default())?;
        let output: Vec<String> = lines(stdout).iter().collect();
        ensure(process.wait()?.status.success(), format!("{load} failed"))?;
        let report = total(output.last().ok_or("no output")?)?;
        ensure(output.len() == 1 && report.load == load && report.requests > 0, format!("{output:?}"))?;
        ensure((report.seconds - 0.5).abs() < 1e-9, format!("{load} counted {} s", report.seconds))?;
    }
    Ok(())
}

pub(super) fn leashed_hogs_end() -> Outcome {
    let argv = program()?.load_argv(["cpu-hog", "--kind", "integer", "--leash", "--json"]);
    let mut hogs =
        Command::new(&argv[0]).args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    drop(hogs.stdin.take());
    let output = hogs.wait_with_output()?;
    ensure(output.status.success(), format!("{}", output.status))?;
    let report = total(String::from_utf8(output.stdout)?.trim())?;
    ensure(report.cpu_ns.is_some(), format!("{report:?}"))
}

/// A measurement of the CPU with these words, not begun.
fn cpu_argv(out: &Path, words: &[&str]) -> Result<Vec<OsString>, Box<dyn Error>> {
    let mut argv = vec![std::env::current_exe()?.into_os_string(), "cpu".into()];
    argv.extend(
        ["--rounds", "1", "--warmup", "0", "--hog-memory", "1MiB", "--service", "50us", "--beat", "20ms"]
            .map(Into::into),
    );
    argv.extend(words.iter().map(Into::into));
    argv.extend(["--out".into(), out.to_owned().into_os_string()]);
    Ok(argv)
}

/// Runs a measurement to its end; its records and what it printed.
fn measured_cpu(out: &Path, words: &[&str]) -> Result<(Vec<Record>, Vec<String>), Box<dyn Error>> {
    let (mut process, stdout) = Proc::spawn(&cpu_argv(out, words)?, Options::default())?;
    let text: Vec<String> = lines(stdout).iter().collect();
    if !process.wait()?.status.success() {
        return Err(process.failed("the measurement failed").into());
    }
    Ok((record::read(out)?, text))
}

pub(super) fn a_small_cpu_measurement() -> Outcome {
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("out");
    let words = ["--cases", "serve-50,wakeup,integer,spin", "--contenders", "none,sched-idle,lull"];
    let (records, text) = measured_cpu(&out, &[words.as_slice(), &["--seconds", "0.2"]].concat())?;
    let unmet: Vec<_> = records.iter().filter(|record| matches!(record, Record::Unmet(_))).collect();
    // The test program has no `run`: said once per case, and the others are measured.
    ensure(unmet.len() == 4, format!("{unmet:?}"))?;
    for case in ["serve-50", "wakeup", "integer", "spin"] {
        let runs: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Run(run) if run.case == case => Some(run),
                _ => None,
            })
            .collect();
        ensure(runs.len() == 4, format!("{case}: {runs:?}"))?;
        for run in runs {
            // Background of the idle class may starve beside another test, and is killed then: its record says so.
            let explained = run.contender == "sched-idle"
                && run.notes.iter().any(|note| {
                    note.contains("the background ended with ")
                        || note.contains("the background left processes behind ")
                });
            let counted = run.foreground.as_ref().is_none_or(|report| report.requests > 0)
                && run.background.as_ref().is_none_or(|work| work.control_cpu_s.is_some() || explained);
            ensure(counted && (run.foreground.is_some() || run.background.is_some()), format!("{run:?}"))?;
        }
        ensure(out.join(format!("{case}.svg")).exists(), format!("no picture of {case}"))?;
    }
    ensure(text.iter().any(|line| line.contains("bg/idle")), text.join("\n"))
}

/// Whether groups of the cpu controller can be had; says so if not.
fn groups_possible() -> bool {
    let group = CpuGroup::create(Purpose::Quota);
    if let Err(why) = &group {
        eprintln!("SKIPPED: {why}");
    }
    group.is_ok()
}

/// The control groups that a harness has made, by its process id.
pub(super) fn groups_of(harness: i32) -> Vec<PathBuf> {
    fn visit(directory: &Path, depth: u32, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path());
            } else if depth > 0 {
                visit(&entry.path(), depth - 1, prefix, found);
            }
        }
    }
    let mut found = Vec::new();
    visit(Path::new("/sys/fs/cgroup"), 6, &format!("lull-{harness}-"), &mut found);
    found
}

pub(super) fn contenders_in_groups() -> Outcome {
    if !groups_possible() {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("out");
    let mut words = vec!["--cases", "serve-50", "--contenders", "cpu.idle,headroom"];
    words.extend(["--seconds", "0.5", "--headroom-period", "100ms"]);
    let (mut process, stdout) = Proc::spawn(&cpu_argv(&out, &words)?, Options::default())?;
    let harness = process.pid().as_raw();
    lines(stdout).iter().for_each(drop);
    ensure(process.wait()?.status.success(), "the measurement failed")?;
    let groups = groups_of(harness);
    ensure(groups.is_empty(), format!("{groups:?} are left"))?;
    let run_of = |name: &str| {
        record::read(&out).ok()?.into_iter().find_map(|record| match record {
            Record::Run(run) if run.contender == name => Some(run),
            _ => None,
        })
    };
    for name in ["alone", "cpu.idle", "headroom"] {
        let run = run_of(name).ok_or_else(|| format!("{name} was not measured"))?;
        ensure(run.foreground.is_some_and(|report| report.requests > 0), format!("{name}: no foreground"))?;
        let grouped = run.command.as_ref().is_none_or(|command| command.contains("/cgroup.procs"));
        ensure(grouped, format!("{name} ran outside of its group: {:?}", run.command))?;
    }
    Ok(())
}

/// The progress file that a load counts into.
fn progress_of(process: i32) -> Option<PathBuf> {
    let line = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
    line.split('\0').skip_while(|word| *word != "--progress").nth(1).map(PathBuf::from)
}

pub(super) fn an_interrupted_cpu_measurement() -> Outcome {
    if !groups_possible() {
        return Ok(());
    }
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let dir = tempfile::tempdir()?;
        let words = ["--cases", "serve-50", "--contenders", "headroom", "--reads", "10", "--seconds", "1000"];
        // The seed with which the contender in a group comes first.
        let seed = (1_u64..)
            .find(|seed| {
                let all = ["alone", "solo", "headroom"]
                    .map(|name| Contender::among(CPU)(name).unwrap_or(Contender::Solo));
                shuffled(&all, "serve-50", *seed, 1).first() == Some(&Contender::Headroom)
            })
            .map(|seed| seed.to_string())
            .unwrap_or_default();
        let words = [words.as_slice(), &["--seed", &seed]].concat();
        let (mut harness, stdout) =
            Proc::spawn(&cpu_argv(&dir.path().join("out"), &words)?, Options::default())?;
        let pid = harness.pid().as_raw();
        let children = || fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        // Job, foreground, and who puts the group back.
        eventually("a run in a group has begun", || {
            groups_of(pid).iter().any(|group| {
                fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|procs| !procs.trim().is_empty())
            }) && children().split_whitespace().count() == 3
        })?;
        let processes: Vec<i32> =
            children().split_whitespace().filter_map(|text| text.parse().ok()).collect();
        let progress =
            processes.iter().find_map(|process| progress_of(*process)).ok_or("no progress file")?;
        kill(harness.pid(), signal)?;
        harness.wait()?;
        drop(stdout);
        if signal == Signal::SIGTERM {
            for process in processes {
                eventually("every started process has ended", || gone(process))?;
            }
        } else {
            // The hogs were on a leash, and so is who removes their group.
            eventually("the hogs and their group are gone", || groups_of(pid).is_empty())?;
            for process in processes {
                eventually("every started process has ended", || gone(process))?;
            }
            fs::remove_file(&progress)?;
        }
        ensure(!progress.exists(), "the progress file is left")?;
        ensure(groups_of(pid).is_empty(), "a control group is left")?;
    }
    Ok(())
}
