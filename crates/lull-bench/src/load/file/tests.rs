use std::os::unix::fs::FileExt;

use super::*;

#[test]
fn buffers_are_aligned_and_own_their_bytes() {
    let mut buffers: Vec<Buffer> = (1..20).map(|n| Buffer::new(n * 512).unwrap()).collect();
    for (value, buffer) in (0_u8..).zip(&mut buffers) {
        assert_eq!(buffer.address() % 4096, 0);
        buffer.bytes().fill(value);
    }
    for (value, buffer) in (0_u8..).zip(&mut buffers) {
        assert!(buffer.bytes().iter().all(|byte| *byte == value));
    }
}

#[test]
fn a_short_tail_is_no_block() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![7_u8; 10_000]).unwrap();
    let source = BlockFile::open(&path, Bytes(4096), false).unwrap();
    assert_eq!((source.blocks, source.offset(1)), (2, 4096));
    let mut bytes = [0_u8; 4096];
    source.file.read_exact_at(&mut bytes, source.offset(1)).unwrap();
    assert_eq!(bytes, [7_u8; 4096]);
}

#[test]
fn blocks_that_cannot_be_read_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, b"tiny").unwrap();
    assert!(BlockFile::open(&path, Bytes(4096), false).unwrap_err().to_string().contains("only 4 bytes"));
    assert!(BlockFile::open(&path, Bytes(1000), true).unwrap_err().to_string().contains("multiple of 512"));
    assert!(BlockFile::open(&path, Bytes(0), false).is_err());
    assert!(
        BlockFile::open(&dir.path().join("none"), Bytes(512), false)
            .unwrap_err()
            .to_string()
            .contains("none")
    );
}
