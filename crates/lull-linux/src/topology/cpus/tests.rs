use proptest::prelude::*;

use super::*;

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

#[test]
fn lists_are_read_as_the_kernel_writes_them() {
    assert_eq!(set("0-3,8\n").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
    assert_eq!(set("3,1,2").to_string(), "1-3");
    assert!(set("").is_empty() && set(" \n").is_empty());
    for wrong in ["a", "3-1", "-2", "1-", "4294967295", "0-4294967295", "1;2"] {
        assert!(wrong.parse::<CpuSet>().unwrap_err().to_string().contains(wrong));
    }
}

#[test]
fn cores_are_told_with_the_cpus_that_count() {
    let dir = tempfile::tempdir().unwrap();
    let topology = |cpu: u32, name: &str, text: &str| {
        let path = dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(name), text).unwrap();
    };
    for cpu in 0..4 {
        topology(cpu, "core_cpus_list", if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" });
    }
    topology(4, "thread_siblings_list", "4-5\n");
    let root = Root::at(dir.path());
    assert_eq!(cores(&root, &set("0-6")), ["0,2", "1,3", "4-5", "6"].map(set));
    assert_eq!(cores(&root, &set("2-3")), [set("2"), set("3")]);
}

#[test]
fn nodes_are_told_with_the_cpus_that_count() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::at(dir.path());
    assert_eq!(nodes(&root, &set("0-3")), [set("0-3")], "none is known");
    let write = |path: &str, text: &str| {
        let path = dir.path().join("sys/devices/system/node").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("online", "0-2\n");
    write("node0/cpulist", "0-3\n");
    write("node1/cpulist", "4-7\n");
    write("node2/cpulist", "\n");
    assert_eq!(nodes(&root, &set("1-5")), ["1-3", "4-5"].map(set));
    assert_eq!(nodes(&root, &set("1-2")), [set("1-2")]);
}

proptest! {
    #[test]
    fn writing_and_reading_agree(cpus in proptest::collection::btree_set(0_u32..200, 0..40)) {
        let cpus: CpuSet = cpus.into_iter().collect();
        prop_assert_eq!(&cpus.to_string().parse::<CpuSet>().unwrap(), &cpus);
    }
}
