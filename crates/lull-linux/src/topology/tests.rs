use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A made-up sysfs, mount table and answers to stat(2).
struct Host {
    dir: TempDir,
    devs: HashMap<PathBuf, DevT>,
    rdevs: HashMap<PathBuf, DevT>,
    mountinfo: String,
}

impl StatDev for Host {
    fn dev(&self, path: &Path) -> io::Result<DevT> {
        self.devs.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rdev(&self, path: &Path) -> Option<DevT> {
        self.rdevs.get(path).copied()
    }
}

impl Host {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for sub in ["sys/block", "sys/class/block", "sys/dev/block", "sys/devices", "proc/self"] {
            fs::create_dir_all(dir.path().join(sub)).unwrap();
        }
        Self { dir, devs: HashMap::new(), rdevs: HashMap::new(), mountinfo: String::new() }
    }

    fn add(&self, at: &str, dev: &str) -> PathBuf {
        let real = self.dir.path().join("sys/devices").join(at);
        fs::create_dir_all(&real).unwrap();
        fs::write(real.join("dev"), format!("{dev}\n")).unwrap();
        let name = real.file_name().unwrap().to_owned();
        symlink(&real, self.dir.path().join("sys/dev/block").join(dev)).unwrap();
        symlink(&real, self.dir.path().join("sys/class/block").join(&name)).unwrap();
        real
    }

    fn disk(&self, name: &str, dev: &str) -> PathBuf {
        let real = self.add(name, dev);
        symlink(&real, self.dir.path().join("sys/block").join(name)).unwrap();
        real
    }

    fn partition(&self, disk: &str, name: &str, dev: &str) {
        let real = self.add(&format!("{disk}/{name}"), dev);
        fs::write(real.join("partition"), "1\n").unwrap();
    }

    fn stacked(&self, name: &str, dev: &str, mark: &str, slaves: &[&str]) {
        let real = self.disk(name, dev);
        fs::create_dir_all(real.join(mark)).unwrap();
        for slave in slaves {
            fs::create_dir_all(real.join("slaves").join(slave)).unwrap();
        }
    }

    fn looped(&self, name: &str, dev: &str, file: &str) {
        let real = self.disk(name, dev);
        fs::create_dir_all(real.join("loop")).unwrap();
        fs::write(real.join("loop/backing_file"), format!("{file}\n")).unwrap();
    }

    fn mount(&mut self, dev: &str, point: &str, fs: &str, source: &str, options: &str) {
        self.mountinfo += &format!("1 1 {dev} / {point} rw - {fs} {source} {options}\n");
    }

    fn topology(&self) -> Topology<'_> {
        fs::write(self.dir.path().join("proc/self/mountinfo"), &self.mountinfo).unwrap();
        Topology::new(Root::at(self.dir.path()), self)
    }

    fn names(&self, dev: &str) -> Result<Vec<String>, TopologyError> {
        let chain = self.topology().serving_disks(dev.parse().unwrap())?;
        Ok(chain.into_iter().map(|disk| disk.name).collect())
    }
}

#[test]
fn a_partition_is_served_by_its_disk() {
    let host = Host::new();
    host.disk("sda", "8:0");
    host.partition("sda", "sda1", "8:1");
    assert_eq!(host.names("8:1").unwrap(), ["sda"]);
    assert_eq!(host.names("8:0").unwrap(), ["sda"]);
    assert_eq!(host.topology().name_of_dev(DevT::new(8, 1)).unwrap(), "sda1");
    assert_eq!(host.topology().dev_of_name("sda1").unwrap(), DevT::new(8, 1));
    assert_eq!(host.topology().disks().len(), 1);
}

#[test]
fn a_loop_device_comes_before_the_disk_of_its_file() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.partition("sda", "sda1", "8:1");
    host.looped("loop0", "7:0", "/srv/disk.img");
    host.devs.insert("/srv/disk.img".into(), DevT::new(8, 1));
    let chain = host.topology().serving_disks(DevT::new(7, 0)).unwrap();
    let found: Vec<_> = chain.iter().map(|disk| (disk.name.as_str(), disk.kind)).collect();
    assert_eq!(found, [("loop0", DiskKind::Loop), ("sda", DiskKind::Disk)]);
}

#[test]
fn an_unlinked_loop_file_is_found_by_its_mount() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.looped("loop0", "7:0", "/srv/disk.img (deleted)");
    host.mount("0:20", "/", "tmpfs", "tmpfs", "rw");
    host.mount("8:0", "/srv", "ext4", "/dev/sda", "rw");
    assert_eq!(host.names("7:0").unwrap(), ["loop0", "sda"]);
}

#[test]
fn a_loop_device_without_a_file_is_its_own_bottom() {
    let host = Host::new();
    host.disk("loop7", "7:7");
    assert_eq!(host.names("7:7").unwrap(), ["loop7"]);
}

#[test]
fn crypt_on_raid_on_two_disks_lists_each_once() {
    let host = Host::new();
    host.disk("sda", "8:0");
    host.partition("sda", "sda2", "8:2");
    host.disk("sdb", "8:16");
    host.partition("sdb", "sdb2", "8:18");
    host.stacked("md0", "9:0", "md", &["sda2", "sdb2"]);
    host.stacked("dm-0", "252:0", "dm", &["md0"]);
    assert_eq!(host.names("252:0").unwrap(), ["dm-0", "md0", "sda", "sdb"]);
}

#[test]
fn bcache_is_a_stacked_device() {
    let host = Host::new();
    host.disk("sda", "8:0");
    host.disk("nvme0n1", "259:0");
    host.stacked("bcache0", "251:0", "bcache", &["nvme0n1", "sda"]);
    let chain = host.topology().serving_disks(DevT::new(251, 0)).unwrap();
    assert_eq!(chain[0].kind, DiskKind::Stacked);
    assert_eq!(chain.len(), 3);
}

#[test]
fn btrfs_is_served_by_all_its_members() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.disk("sdb", "8:16");
    host.partition("sdb", "sdb1", "8:17");
    let members = host.dir.path().join("sys/fs/btrfs/1234/devices");
    fs::create_dir_all(members.join("sda")).unwrap();
    fs::create_dir_all(members.join("sdb1")).unwrap();
    host.mount("0:33", "/home", "btrfs", "/dev/sda", "rw");
    assert_eq!(host.names("0:33").unwrap(), ["sda", "sdb"]);
    assert_eq!(host.names("0:99").unwrap(), ["sda", "sdb"], "a subvolume that is no mount of its own");
}

#[test]
fn overlay_is_served_by_the_disks_of_its_layers() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.disk("sdb", "8:16");
    host.mount("0:40", "/merged", "overlay", "overlay", "rw,lowerdir=/l1:/l2,upperdir=/u,workdir=/w");
    for (dir, dev) in [("/u", (8, 16)), ("/l1", (8, 0)), ("/l2", (8, 0))] {
        host.devs.insert(dir.into(), DevT::new(dev.0, dev.1));
    }
    assert_eq!(host.names("0:40").unwrap(), ["sdb", "sda"]);
}

#[test]
fn an_overlay_with_unseen_layers_says_so() {
    let mut host = Host::new();
    host.mount("0:40", "/", "overlay", "overlay", "rw,lowerdir=/host/l,upperdir=/host/u");
    let error = host.names("0:40").unwrap_err().to_string();
    assert!(error.contains("overlay") && error.contains("--disk"), "{error}");
}

#[test]
fn memory_and_network_file_systems_have_no_disk_and_zfs_hides_them() {
    let mut host = Host::new();
    host.mount("0:20", "/tmp", "tmpfs", "tmpfs", "rw");
    host.mount("0:21", "/net", "nfs4", "server:/export", "rw");
    host.mount("0:22", "/pool", "zfs", "pool/data", "rw");
    assert!(host.names("0:20").unwrap().is_empty());
    assert!(host.names("0:21").unwrap().is_empty());
    assert!(host.names("0:77").unwrap().is_empty());
    assert!(matches!(host.names("0:22"), Err(TopologyError::Hidden { .. })));
}

#[test]
fn bcachefs_names_its_members_in_its_source() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.disk("sdb", "8:16");
    host.rdevs.insert("/dev/disk-a".into(), DevT::new(8, 0));
    host.mount("0:30", "/b", "bcachefs", "/dev/disk-a:/dev/sdb", "rw");
    assert_eq!(host.names("0:30").unwrap(), ["sda", "sdb"]);
}

#[test]
fn a_file_and_a_device_file_are_told_apart() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.devs.insert("/etc/fstab".into(), DevT::new(8, 0));
    host.devs.insert("/dev/sda".into(), DevT::new(0, 6));
    host.rdevs.insert("/dev/sda".into(), DevT::new(8, 0));
    let topology = host.topology();
    assert_eq!(topology.disks_of_file(Path::new("/etc/fstab")).unwrap()[0].name, "sda");
    assert_eq!(topology.disks_of_file(Path::new("/dev/sda")).unwrap()[0].name, "sda");
    let error = topology.disks_of_file(Path::new("/nowhere")).unwrap_err().to_string();
    assert!(error.contains("/nowhere"), "{error}");
}

#[test]
fn a_ring_of_devices_ends_and_an_unknown_one_is_named() {
    let host = Host::new();
    host.stacked("dm-0", "252:0", "dm", &["dm-1"]);
    host.stacked("dm-1", "252:1", "dm", &["dm-0"]);
    assert_eq!(host.names("252:0").unwrap(), ["dm-0", "dm-1"]);
    assert!(host.names("8:240").unwrap_err().to_string().contains("8:240"));
    assert!(host.topology().dev_of_name("../secret").is_err());
}

#[test]
fn mount_points_of_a_disk_include_those_of_its_volumes() {
    let mut host = Host::new();
    host.disk("sda", "8:0");
    host.partition("sda", "sda1", "8:1");
    host.stacked("dm-0", "252:0", "dm", &["sda1"]);
    host.mount("252:0", "/", "ext4", "/dev/mapper/root", "rw");
    host.mount("0:5", "/proc", "proc", "proc", "rw");
    let points = host.topology().mount_points();
    assert_eq!(points[&DevT::new(8, 0)], [Path::new("/")]);
    assert_eq!(points[&DevT::new(252, 0)], [Path::new("/")]);
    assert_eq!(points.len(), 2);
}

#[test]
fn device_numbers_convert_between_their_three_forms() {
    let dev = DevT::new(259, 70_000);
    assert_eq!(DevT::from_stat(libc::makedev(259, 70_000)), dev);
    assert_eq!(DevT::from_kernel(dev.to_kernel()), dev);
    assert_eq!(dev.to_string().parse::<DevT>().unwrap(), dev);
    assert!("8".parse::<DevT>().unwrap_err().to_string().contains("'8'"));
    assert_eq!(serde_json::to_string(&dev).unwrap(), "\"259:70000\"");
}

#[test]
fn the_running_host_s_own_root_has_an_answer() {
    let topology = Topology::host();
    match topology.disks_of_file(Path::new("/")) {
        Ok(chain) => {
            for disk in chain {
                assert_eq!(topology.name_of_dev(disk.dev).unwrap(), disk.name);
            }
        }
        Err(error) => eprintln!("SKIPPED: the root file system's disks can't be told here: {error}"),
    }
}
