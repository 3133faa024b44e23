#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{GroupName, MemoryGroup, MemoryStat};
use crate::cgroup::CgroupFacts;
use crate::root::Root;

#[test]
fn both_versions_are_read() {
    let v1 = "cache 1\nrss 2\ntotal_cache 4096\ntotal_rss 8192\ntotal_swap 12\ntotal_dirty 7\ntotal_inactive_file 9\n\
              total_active_file 6\ntotal_writeback 1\ntotal_mapped_file 2\n\
              total_workingset_refault_anon 3\ntotal_workingset_refault_file 4\ntotal_pgmajfault 5\n";
    let stat = MemoryStat::parse(v1, true);
    assert_eq!((stat.anon, stat.file, stat.swapped, stat.dirty), (8192, 4096, 12, Some(7)));
    assert_eq!((stat.inactive_file, stat.refaults, stat.major_faults), (9, 7, 5));
    assert_eq!((stat.clean_inactive(), stat.clean_cache()), (1, 5));
    let v2 = "anon 10\nfile 20\nfile_dirty 3\nanon_thp 99\ninactive_file 4\nfile_writeback 2\nworkingset_refault_file 6\npgmajfault 8\n";
    let stat = MemoryStat::parse(v2, false);
    assert_eq!((stat.anon, stat.file, stat.inactive_file, stat.dirty), (10, 20, 4, Some(3)));
    assert_eq!((stat.refaults, stat.major_faults), (6, 8));
    assert_eq!((stat.clean_inactive(), stat.clean_cache()), (0, 0), "what is dirty is not clean");
}

#[test]
fn root_a_group_is_limited_and_leaves_nothing() {
    let root = Root::real();
    let facts = CgroupFacts::read(&root, true);
    let outer = match MemoryGroup::create(&GroupName::next(&root), &facts) {
        Ok(group) => group,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    assert_eq!(outer.limit(), None);
    outer.set_limit(Some(64 << 20)).unwrap();
    assert_eq!(outer.limit(), Some(64 << 20));
    assert!(outer.peak() >= outer.usage());
    assert!(outer.usage().unwrap() < 64 << 20 && outer.stat().unwrap().anon == 0);
    if outer.is_v1() {
        let inner = MemoryGroup::create_in(outer.path(), &GroupName::next(&root)).unwrap();
        assert_eq!(inner.limited_ancestors().first(), Some(&outer));
        inner.remove().unwrap();
    }
    let path = outer.path().to_owned();
    outer.remove().unwrap();
    assert!(!path.exists());
}
