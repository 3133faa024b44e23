use std::process::Command;

use super::*;
use crate::corpus;

#[test]
fn every_compiled_file_counts_once() {
    if !packages::missing(packages::of_work(AppJob::Compile)).is_empty() {
        eprintln!("SKIPPED: no compiler or no make");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    corpus::project(dir.path(), 2, 1).unwrap();
    let output = Command::new("make").arg("-C").arg(dir.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Two units and main.c; the line that links them is no file.
    assert_eq!(text.lines().map(compiled).sum::<u64>(), 3, "{text}");
}
