#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use clap::Parser;

use super::super::args::{MemoryArgs, MemoryCase};
use super::Case;
use crate::contender::Contender;
use crate::units::Bytes;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: MemoryArgs,
}

fn args(words: &[&str]) -> MemoryArgs {
    Command::try_parse_from([&["bench"], words].concat()).unwrap().args
}

#[test]
fn every_case_takes_its_references_and_lull() {
    let dir = tempfile::tempdir().unwrap();
    let args = args(&["--scale", "64"]);
    for group in args.cases.clone() {
        for case in Case::of(group, dir.path(), &args).unwrap() {
            let taken: Vec<String> =
                args.contenders().iter().filter(|one| case.takes(one)).map(Contender::name).collect();
            assert!(taken.contains(&"lull".to_owned()) && taken.contains(&"none".to_owned()), "{taken:?}");
            assert_eq!(
                taken.contains(&"alone".to_owned()),
                !case.name.starts_with("quiet-"),
                "{}",
                case.name
            );
        }
    }
}

#[test]
fn only_files_are_scaled() {
    let dir = tempfile::tempdir().unwrap();
    let args = args(&["--scale", "64"]);
    let memory = |group| Case::of(group, dir.path(), &args).unwrap()[0].memory;
    assert_eq!(memory(MemoryCase::HostFirst), Some(Bytes(192 << 20)));
    assert_eq!(memory(MemoryCase::Cache), Some(Bytes(32 << 20)));
    assert_eq!(dir.path().join("hot.dat").metadata().unwrap().len(), 16 << 20);
}

#[test]
fn only_nocache_drops_what_it_has_read() {
    let dir = tempfile::tempdir().unwrap();
    let case = &Case::of(MemoryCase::Cache, dir.path(), &args(&["--scale", "64"])).unwrap()[0];
    let keeps = |contender| case.job(&contender, Path::new("p")).contains(&"--keep".into());
    assert!(keeps(Contender::Unmanaged) && keeps(Contender::Lull(Vec::new())) && !keeps(Contender::NoCache));
}
