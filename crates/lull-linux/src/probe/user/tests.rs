use super::*;

#[test]
fn capabilities_come_from_the_effective_mask() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
    let status = "Name:\tlull\nCapPrm:\t000001ffffffffff\nCapEff:\t000001fffeffffff\nNoNewPrivs:\t1\n";
    std::fs::write(dir.path().join("proc/self/status"), status).unwrap();
    let user = UserFacts::read(&Root::at(dir.path()));
    assert!(user.has("CAP_SYS_ADMIN") && user.has("CAP_BPF"));
    assert_eq!(user.missing_capabilities, ["CAP_SYS_RESOURCE"], "bit 24 is not set");
    assert!(user.no_new_privs);
}

#[test]
fn a_host_without_proc_grants_nothing() {
    let user = UserFacts::read(&Root::at("/nonexistent"));
    assert!(user.capabilities.is_empty());
    assert_eq!(user.missing_capabilities.len(), CAPABILITIES.len());
}

#[test]
fn limits_have_a_soft_value_within_the_hard_one() {
    let limits = limits();
    assert!(limits.iter().any(|limit| limit.name == "nofile"));
    for limit in limits {
        if let (Some(soft), Some(hard)) = (limit.soft, limit.hard) {
            assert!(soft <= hard, "{limit:?}");
        }
    }
}
