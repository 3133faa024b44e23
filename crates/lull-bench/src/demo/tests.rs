use super::*;

#[test]
fn the_files_are_swept_up_unless_kept() {
    for keep in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let files = dir.path().join("files");
        std::fs::create_dir(&files).unwrap();
        std::fs::write(files.join("large"), b"large").unwrap();
        drop(Sweeper { directory: &files, keep });
        assert_eq!(files.exists(), keep);
    }
}
