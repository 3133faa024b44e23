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
fn a_slow_disk_gets_fewer_files_but_some() {
    let dir = tempfile::tempdir().unwrap();
    let count = || std::fs::read_dir(dir.path()).unwrap().count();
    let size = Bytes(2 * PIECE.0 + 5_000);
    assert_eq!(make(dir.path(), size, &|| false).unwrap(), PIECE);
    assert_eq!(count(), 1);
    // What is there is kept; a last piece may be smaller than a file.
    assert_eq!(make(dir.path(), size, &|| true).unwrap(), size);
    assert_eq!(count(), 3);
}
