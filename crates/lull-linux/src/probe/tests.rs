use super::*;

#[test]
fn trials_tell_the_system_s_answer() {
    assert!(Trial::from_errno(0).works());
    let refused = Trial::from_errno(libc::EPERM);
    assert_eq!(refused.errno(), Some(libc::EPERM));
    assert!(refused.to_string().contains("EPERM"), "{refused}");
    assert_eq!(Trial::fails("because").errno(), None);
    let io: std::io::Result<()> = Err(std::io::Error::from_raw_os_error(libc::EROFS));
    assert_eq!(Trial::from_io(&io).errno(), Some(libc::EROFS));
}

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
