#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::Parser;

use super::{WorkingSetArgs, run};
use crate::load::LoadLine;
use crate::progress::Progress;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: WorkingSetArgs,
}

fn args(words: &str) -> WorkingSetArgs {
    Command::try_parse_from(std::iter::once("load").chain(words.split_whitespace())).unwrap().args
}

#[test]
fn a_full_set_is_told_once_and_requests_are_counted_from_then_on() {
    let mut told = Vec::new();
    let args = args("--memory 1MiB --requests 5 --touches 2 --iterations 1 --ready");
    let report = run(&args, &mut |line| {
        told.push(line);
        Ok(())
    })
    .unwrap();
    assert_eq!(told, [LoadLine::Ready]);
    assert_eq!((report.requests, report.bytes), (5, 5 * 2 * 4096));
}

#[test]
fn filling_alone_is_a_request_per_mebibyte() {
    let report = run(&args("--memory 3MiB --fill-only"), &mut |_| Ok(())).unwrap();
    assert_eq!((report.requests, report.bytes), (3, 3 << 20));
    assert!(report.busy_ns <= report.ended_ns - report.started_ns);
}

#[test]
fn filling_is_progress_only_if_asked_for() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let progress = Progress::create(file.path()).unwrap();
    let words = format!("--memory 2MiB --requests 1 --touches 1 --progress {}", file.path().display());
    run(&args(&words), &mut |_| Ok(())).unwrap();
    assert_eq!(progress.bytes(), 4096);
    run(&args(&format!("{words} --count-fill")), &mut |_| Ok(())).unwrap();
    assert_eq!(progress.bytes(), 4096 + (2 << 20) + 4096);
}

#[test]
fn a_set_that_rests_does_the_same_work_and_takes_longer() {
    let words = "--memory 1MiB --requests 3 --touches 1 --iterations 1";
    let rested = run(&args(&format!("{words} --rest 30ms")), &mut |_| Ok(())).unwrap();
    assert_eq!(rested.requests, 3);
    assert!(rested.ended_ns - rested.started_ns >= 90_000_000, "{rested:?}");
    let later = run(&args(&format!("{words} --rest 1000s --rest-after 1000")), &mut |_| Ok(())).unwrap();
    assert_eq!(later.requests, 3);
}
