//! `lull bench memory`.

use std::error::Error;
use std::fs;
use std::path::Path;

use lull_bench::process::{Options, Proc, lines};
use lull_bench::record::{self, Record};

use super::{Outcome, ensure};

fn dirty_bounds() -> Vec<String> {
    let names = ["dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes"];
    names.map(|name| fs::read_to_string(format!("/proc/sys/vm/{name}")).unwrap_or_default()).to_vec()
}

/// Measures cases in a directory; what was printed, after a look at what is left.
fn measured(dir: &Path, words: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut argv = vec![std::env::current_exe()?.into_os_string(), "memory".into()];
    argv.extend(words.split_whitespace().map(Into::into));
    let out = dir.join("out").into_os_string();
    argv.extend(["--dir".into(), dir.as_os_str().to_owned(), "--out".into(), out]);
    let (mut process, stdout) = Proc::spawn(&argv, Options::default())?;
    let harness = process.pid().as_raw();
    let text = lines(stdout).iter().collect();
    if !process.wait()?.status.success() {
        return Err(process.failed("the measurement failed").into());
    }
    let swaps = fs::read_to_string("/proc/swaps")?;
    ensure(!swaps.contains(&*dir.to_string_lossy()), swaps)?;
    ensure(super::cpu::groups_of(harness).is_empty(), "a control group is left")?;
    Ok(text)
}

pub(super) fn a_small_memory_measurement() -> Outcome {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: it needs root");
        return Ok(());
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let before = dirty_bounds();
    let contenders = "--rounds 1 --scale 64 --contenders none,limit,nocache,dirty-bytes";
    let mut text = measured(dir.path(), &format!("{contenders} --seconds 0.5 --cases page-out,cache,quiet"))?;
    // A request waits for the disk there, which others may keep for long.
    text.extend(measured(dir.path(), &format!("{contenders} --seconds 2 --cases wal"))?);
    ensure(dirty_bounds() == before, "bounds on dirty pages were not put back")?;
    let records = record::read(&dir.path().join("out"))?;
    let run_of = |case: &str, name: &str| {
        records.iter().find_map(|record| match record {
            Record::Run(run) if run.case == case && run.contender == name => Some(run),
            _ => None,
        })
    };
    let expected = [
        ("page-out", ["alone", "solo", "none"].as_slice()),
        ("cache", &["alone", "solo", "none", "nocache"]),
        ("wal", &["alone", "solo", "none", "dirty-bytes"]),
        ("quiet-write", &["none"]),
        ("quiet-read", &["none"]),
        ("quiet-work", &["none"]),
    ];
    for (case, names) in expected {
        for name in names {
            let unmet =
                records.iter().any(|record| matches!(record, Record::Unmet(unmet) if unmet.case == case));
            let Some(run) = run_of(case, name) else {
                ensure(unmet, format!("{case}, {name}: neither measured nor unmet: {records:?}"))?;
                continue;
            };
            let worked = run.foreground.as_ref().is_none_or(|report| report.requests > 0)
                && run.background.as_ref().is_none_or(|work| work.window_s > 0.0);
            ensure(worked && (run.foreground.is_some() || run.background.is_some()), format!("{run:?}"))?;
        }
    }
    let hits = run_of("cache", "alone").and_then(|run| run.foreground.as_ref()?.misses);
    ensure(run_of("cache", "alone").is_none() || hits.is_some(), "hits were not counted")?;
    ensure(text.iter().any(|line| line.contains("contender")), text.join("\n"))
}
