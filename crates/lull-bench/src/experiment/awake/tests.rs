use super::*;

#[test]
fn a_bound_of_nothing_is_asked_for_as_long_as_it_is_held() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let awake = Awake::keep_by(file.path());
    assert!(awake.is_kept());
    assert_eq!(std::fs::read(file.path()).unwrap(), 0_i32.to_ne_bytes());
}

#[test]
fn without_the_file_cpus_sleep_as_ever() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("cpu_dma_latency");
    assert!(!Awake::keep_by(&missing).is_kept());
    assert!(!missing.exists());
    assert!(!Awake::doze().is_kept());
}
