use std::process::{Child, Command, Stdio};

use super::*;

fn tree(mount: &Path) -> CpuTree {
    CpuTree { mount: mount.to_owned(), version: 1, own: Some(mount.to_owned()), place: mount.to_owned() }
}

#[test]
fn a_guest_in_its_starters_group_has_none_of_its_own() {
    let tree = tree(Path::new("/cg"));
    let own = |starter: &str, guest: &str| {
        let found = tree.own_of_guests(Path::new(starter), Path::new(guest));
        found.map(|path| path.display().to_string())
    };
    let service = "/cg/system.slice/condor.service";
    assert_eq!(own(service, service), None);
    assert_eq!(own(service, "/cg"), None);
    assert_eq!(own(service, "/cg/system.slice"), None, "above its starter is no group of a guest's");
    // HTCondor 23.9 on v1, then on v2, then with a subgroup for its daemons.
    assert_eq!(own(service, "/cg/htcondor/slot1").as_deref(), Some("/cg/htcondor"));
    let beside = own(service, "/cg/system.slice/htcondor/slot1");
    assert_eq!(beside.as_deref(), Some("/cg/system.slice/htcondor"));
    let below = own(&format!("{service}/leaf"), &format!("{service}/htcondor/slot1"));
    assert_eq!(below, Some(format!("{service}/htcondor")));
    assert_eq!(own(service, &format!("{service}/slot1")), Some(format!("{service}/slot1")));
}

#[test]
fn a_group_is_found_by_what_the_kernel_says_of_a_process() {
    let dir = tempfile::tempdir().unwrap();
    let mount = dir.path().join("cg");
    fs::create_dir_all(mount.join("a/b")).unwrap();
    fs::create_dir_all(dir.path().join("proc/7")).unwrap();
    let says = |text: &str| fs::write(dir.path().join("proc/7/cgroup"), text).unwrap();
    let root = Root::at(dir.path());
    says("3:memory:/x\n2:cpuacct,cpu:/a/b\n0::/unified\n");
    assert_eq!(tree(&mount).group_of(&root, 7), Some(mount.join("a/b")));
    let v2 = CpuTree { version: 2, ..tree(&mount) };
    assert_eq!(v2.group_of(&root, 7), None, "what is not mounted is not there");
    says("0::/a\n");
    assert_eq!(v2.group_of(&root, 7), Some(mount.join("a")));
    assert_eq!(v2.group_of(&root, 8), None);
}

struct Ends(Child);

impl Ends {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Real groups, below one of this test's own: what stands at the top of it counts as the top.
#[test]
fn root_guests_are_moved_or_their_groups_lowered_and_all_is_put_back() {
    let root = Root::real();
    let facts = CgroupFacts::read(&root, true);
    let Some(found) = CpuTree::find(&facts) else { return println!("SKIPPED: no cpu controller is mounted") };
    let top = found.mount.join(format!("lull-test-below-{}", std::process::id()));
    let made = fs::create_dir(&top).and_then(|()| fs::create_dir_all(top.join("service")));
    if made.is_err() || !top.join("service/cpu.shares").exists() {
        let _ = fs::remove_dir(top.join("service"));
        let _ = fs::remove_dir(&top);
        return println!("SKIPPED: no v1 groups of the cpu controller can be made here");
    }
    fs::create_dir_all(top.join("batch/slot1")).unwrap();
    let (starter, inside, apart) = (Ends::start(), Ends::start(), Ends::start());
    for (process, group) in [(&starter, "service"), (&inside, "service"), (&apart, "batch/slot1")] {
        put(&top.join(group).join("cgroup.procs"), &process.pid().to_string()).unwrap();
    }
    let tree =
        CpuTree { mount: top.clone(), own: Some(top.join("service")), place: top.clone(), ..found.clone() };
    let at = |process: &Ends| found.group_of(&root, process.pid()).unwrap();
    let lowest = |group: &str| matches!(reach_of(&top, &top.join(group)), Reach::Everybody);
    let mut below = Below { tree, top: None, changed: Vec::new(), _scope: None };
    // Twice: the second time nothing is to be done.
    for _ in 0..2 {
        below.see(inside.pid(), &at(&inside), &at(&starter)).unwrap();
        below.see(apart.pid(), &at(&apart), &at(&starter)).unwrap();
    }
    assert!(at(&inside) == top.join(NAME) && lowest(NAME));
    assert_eq!(at(&apart), top.join("batch/slot1"), "what counts it stays as it is");
    assert!(lowest("batch") && !lowest("service"));
    below.restore();
    assert!(at(&inside) == top.join("service") && !top.join(NAME).exists());
    assert!(!lowest("batch"));
    drop((starter, inside, apart));
    for group in ["batch/slot1", "batch", "service", ""] {
        let _ = (0..200).find(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            fs::remove_dir(top.join(group)).is_ok()
        });
    }
    assert!(!top.exists());
}
