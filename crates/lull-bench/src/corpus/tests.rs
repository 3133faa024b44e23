use super::*;

#[test]
fn a_data_file_is_whole_random_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/data");
    let size = Bytes(3 * Bytes::MIB + 17);
    data_file(&path, size, 1).unwrap();
    let first = fs::read(&path).unwrap();
    assert_eq!(first.len() as u64, size.0);
    let zeros = first.iter().filter(|byte| **byte == 0).count();
    assert!(zeros < first.len() / 100, "{zeros} zero bytes");

    data_file(&path, size, 2).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first, "a fitting file is kept");
    File::create(&path).unwrap().set_len(size.0).unwrap();
    data_file(&path, size, 1).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first, "a sparse file is made again");
}

#[test]
fn a_tree_has_its_sizes_and_is_made_again_when_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    let total = Bytes(8 * Bytes::MIB);
    let made = tree(&root, total, Sizes::Mixed, 5).unwrap();
    assert!(made.bytes() >= total && made.bytes().0 <= total.0 + 4 * Bytes::MIB);
    for (path, size) in &made.files {
        assert_eq!(path.metadata().unwrap().len(), size.0);
        assert!((4096..=4 * Bytes::MIB).contains(&size.0));
    }
    let (victim, size) = &made.files[0];
    fs::remove_file(victim).unwrap();
    tree(&root, total, Sizes::Mixed, 5).unwrap();
    assert!(!victim.exists(), "a stamped tree is not looked through");
    fs::remove_file(root.join(STAMP)).unwrap();
    tree(&root, total, Sizes::Mixed, 5).unwrap();
    assert_eq!(victim.metadata().unwrap().len(), size.0);
}

#[test]
fn both_ways_to_count_cached_pages_agree() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![1_u8; 1 << 20]).unwrap();
    let pages = mincore(file.as_file()).unwrap();
    assert_eq!(pages, (1 << 20) / page_bytes(), "just written, so cached");
    match cachestat(file.as_file()) {
        Ok(counted) => assert_eq!(counted, pages),
        Err(error) => eprintln!("SKIPPED: cachestat: {error}"),
    }
}

#[test]
fn the_project_compiles() {
    let dir = tempfile::tempdir().unwrap();
    project(dir.path(), 2, FUNCTIONS).unwrap();
    let make = |target: &str| {
        std::process::Command::new("make").args(["-s", "CFLAGS=-O0", target]).current_dir(dir.path()).status()
    };
    match make("program") {
        Ok(status) => assert!(status.success() && dir.path().join("program").exists()),
        Err(error) => return eprintln!("SKIPPED: make: {error}"),
    }
    assert!(make("clean").unwrap().success() && !dir.path().join("program").exists());
}
