use super::*;

#[test]
fn both_ends_see_the_same_counters() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress");
    let harness = Progress::create(&path).unwrap();
    let load = Progress::open(&path).unwrap();
    load.add(4096);
    load.add(512);
    assert_eq!((harness.requests(), harness.bytes()), (2, 4608));
}

#[test]
fn a_short_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short");
    std::fs::write(&path, b"short").unwrap();
    let error = Progress::open(&path).unwrap_err().to_string();
    assert!(error.contains("24 bytes"), "{error}");
}

#[test]
fn a_paused_load_waits_until_it_may_go_on_or_is_to_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress");
    let harness = Progress::create(&path).unwrap();
    let load = Progress::open(&path).unwrap();
    load.wait_while_paused(|| false);
    harness.pause(true);
    load.wait_while_paused(|| true);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            load.wait_while_paused(|| false);
            load.add(1);
        });
        assert_eq!(harness.bytes(), 0);
        harness.pause(false);
        waiting.join().unwrap();
    });
    assert_eq!(harness.bytes(), 1);
}

#[test]
fn only_the_files_of_those_who_are_gone_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["lull-bench-1-a", "lull-bench-22-b", "lull-bench-x-c", "other-22-d"];
    for name in names {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    sweep_in(dir.path(), &|pid| pid == 1);
    let left: Vec<bool> = names.iter().map(|name| dir.path().join(name).exists()).collect();
    assert_eq!(left, [true, false, true, true]);
}
