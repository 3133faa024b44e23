use super::*;

#[test]
fn a_probe_of_the_running_host_serialises_and_names_its_kernel() {
    let facts = Facts::probe();
    let json = serde_json::to_value(&facts).unwrap();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(json["kernel"]["release"], release.trim());
    assert_eq!(json["user"]["euid"], nix::unistd::geteuid().as_raw());
    assert_eq!(json["disks"].as_array().unwrap().len(), facts.disks.len());
    for disk in &facts.disks {
        assert_eq!(facts.disk(&disk.name), Some(disk));
    }
}
