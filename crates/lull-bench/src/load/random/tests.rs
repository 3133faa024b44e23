use super::*;
use crate::progress::Progress;
use crate::units::Bytes;

#[test]
fn threads_share_the_work_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    std::fs::write(&file, vec![1_u8; 64 * 1024]).unwrap();
    let counters = dir.path().join("progress");
    let progress = Progress::create(&counters).unwrap();
    let common = CommonArgs {
        file,
        block: Bytes(8192),
        seconds: None,
        requests: Some(1_001),
        seed: 1,
        progress: Some(counters),
        json: true,
    };
    let report = run(&RandomArgs { common, threads: 4, buffered: true }).unwrap();
    assert_eq!((report.requests, report.bytes), (1_001, 1_001 * 8192));
    assert_eq!((progress.requests(), progress.bytes()), (1_001, 1_001 * 8192));
}

#[test]
fn a_failing_read_ends_the_load_with_the_file_named() {
    let dir = tempfile::tempdir().unwrap();
    let common = CommonArgs {
        file: dir.path().join("gone"),
        block: Bytes(512),
        seconds: None,
        requests: Some(1),
        seed: 1,
        progress: None,
        json: true,
    };
    let error = run(&RandomArgs { common, threads: 2, buffered: true }).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
}
