#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::Parser;

use super::{LogArgs, WriteArgs, log, write};

#[derive(Parser)]
enum Command {
    Log(LogArgs),
    Write(WriteArgs),
}

fn parse(words: &str) -> Command {
    Command::try_parse_from(std::iter::once("load").chain(words.split_whitespace())).unwrap()
}

#[test]
fn a_log_grows_by_a_block_per_request() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let Command::Log(args) = parse(&format!("log --file {} --requests 3", file.path().display())) else {
        unreachable!("a log was asked for")
    };
    let report = log(&args).unwrap();
    assert_eq!((report.requests, report.bytes), (3, 3 * 4096));
    assert_eq!(file.path().metadata().unwrap().len(), 3 * 4096);
    assert!(report.latency.unwrap().mean_ns > 0);
}

#[test]
fn a_writer_begins_again_at_the_end() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    let words = format!("write --file {path} --block 64KiB --size 128KiB --requests 5 --sync");
    let Command::Write(args) = parse(&words) else { unreachable!("a writer was asked for") };
    let report = write(&args).unwrap();
    assert_eq!((report.requests, report.bytes), (5, 5 * 65536));
    assert_eq!(file.path().metadata().unwrap().len(), 131_072);
}
