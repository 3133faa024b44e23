use super::*;
use crate::units::Bytes;

#[test]
fn counts_every_read_once_at_any_depth() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    std::fs::write(&file, vec![1_u8; 256 * 1024]).unwrap();
    for depth in [1, 7, 32] {
        let common = CommonArgs {
            file: file.clone(),
            block: Bytes(4096),
            seconds: None,
            requests: Some(500),
            seed: 1,
            progress: None,
            json: true,
        };
        let report = run(&AioArgs { common, depth }).unwrap();
        assert_eq!((report.requests, report.bytes), (500, 500 * 4096), "depth {depth}");
    }
}
