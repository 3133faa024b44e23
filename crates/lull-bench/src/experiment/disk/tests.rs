use std::process::Command;

use super::*;

#[test]
fn a_line_of_cksum_counts_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a file with spaces");
    std::fs::write(&path, vec![1_u8; 5_000]).unwrap();
    let output = Command::new("cksum").arg(&path).output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    assert_eq!(finished_file(line.trim_end()), 5_000);
    assert_eq!(finished_file(""), 0);
    assert_eq!(finished_file("cksum: nonsense"), 0);
}

#[test]
fn a_line_of_dd_counts_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, vec![1_u8; 5_000]).unwrap();
    let source = format!("if={}", path.display());
    let output = Command::new("dd").args([&source, "of=/dev/null"]).output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    assert_eq!(lines.lines().map(copied).sum::<u64>(), 5_000);
    assert_eq!(copied("dd: failed to open bytes copied"), 0);
}
