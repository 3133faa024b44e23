#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::Parser;

use super::args::MemoryArgs;
use super::case::Case;
use super::{does_work, had, minutes};
use crate::contender::Contender;
use crate::contender::known::MEMORY;
use crate::experiment::summary::SummaryFile;
use crate::record::Background;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: MemoryArgs,
}

fn cases(args: &MemoryArgs) -> Vec<Case> {
    let dir = tempfile::tempdir().unwrap();
    args.cases.iter().flat_map(|group| Case::of(*group, dir.path(), args).unwrap()).collect()
}

#[test]
fn three_rounds_of_everything_take_about_half_an_hour() {
    let args = |rounds| Command::try_parse_from(["bench", "--scale", "64", "--rounds", rounds]).unwrap().args;
    let three = args("3");
    let took = minutes(&three, &cases(&three));
    assert!((20..=35).contains(&took), "{took} minutes");
    assert!(minutes(&args("6"), &cases(&three)) > took);
}

#[test]
fn a_run_counts_only_if_the_job_worked() {
    let args = Command::try_parse_from(["bench", "--scale", "64"]).unwrap().args;
    let cases = cases(&args);
    let case = |name| cases.iter().find(|case| case.name == name).unwrap();
    let (idle, busy) = (Background::default(), Background { bytes: 1, ..Background::default() });
    let mut notes = Vec::new();
    assert!(!does_work(case("wal"), Some(&idle), &mut notes) && !notes.is_empty());
    assert!(does_work(case("wal"), Some(&busy), &mut notes) && does_work(case("wal"), None, &mut notes));
    // A host that gets its memory back in no time leaves no time to the job.
    assert!(does_work(case("page-out"), Some(&idle), &mut notes));
}

#[test]
fn a_small_job_counts_at_the_defaults_alone() {
    let dir = tempfile::tempdir().unwrap();
    let summary_file = SummaryFile::create(dir.path()).unwrap();
    std::fs::write(summary_file.flags().last().unwrap(), r#"{"is_complete": true, "memory": null}"#).unwrap();
    let args = |words: &[&str]| Command::try_parse_from([&["bench"], words].concat()).unwrap().args;
    let counts = |words: &[&str], contender: &str| {
        let mut notes = Vec::new();
        let counts =
            had(&args(words), &Contender::among(MEMORY)(contender).unwrap(), &summary_file, &mut notes);
        (counts, notes.len())
    };
    assert_eq!(counts(&[], "lull"), (true, 1));
    assert_eq!(counts(&[], "lull-now"), (false, 0));
    assert_eq!(counts(&["--lull-args", "--resources memory"], "lull"), (false, 0));
}
