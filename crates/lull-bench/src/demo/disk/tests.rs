use super::*;

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
