#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::cgroup::{GroupName, JobGroup, Reach};
use crate::marks::Mark;
use crate::probe::CgroupFacts;
use crate::root::Root;

#[test]
fn two_tasks_of_one_class_share_and_an_idle_one_does_not() {
    // One of the two may be the unlucky one while others compute here: three times.
    let tried = |marks: MarkSet| (0..3).map(|_| compare(marks, |_| Ok(())).unwrap()).collect::<Vec<_>>();
    let equal = tried(MarkSet::default());
    assert!(equal.iter().any(|shares| !shares.in_force()), "{equal:?}");
    let idle = tried(MarkSet::default().with(Mark::SchedIdle));
    assert!(idle.iter().any(Shares::in_force), "{idle:?}");
}

#[test]
fn a_task_that_cannot_be_moved_is_told_and_nothing_is_left() {
    let mut moved = 0;
    let refused = compare(MarkSet::default(), |pid| {
        moved = pid;
        Err(io::ErrorKind::PermissionDenied.into())
    });
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert!(kill(Pid::from_raw(moved), None).is_err());
}

#[test]
fn root_a_job_s_group_at_the_top_comes_after_everybody() {
    let root = Root::real();
    let facts = CgroupFacts::read(&root, true);
    let group = JobGroup::create(&GroupName::next(&root), &facts);
    let idle = group.set_idle_cpu().unwrap();
    let reach = group.reach(&facts);
    let shares: Vec<_> = (0..3)
        .map(|_| compare(MarkSet::default(), |pid| group.add(pid).map_err(io::Error::other)).unwrap())
        .collect();
    group.remove().unwrap();
    if !idle || reach != Reach::Everybody {
        println!("SKIPPED: no group at the top can be made here: {reach:?}");
        return;
    }
    assert!(shares.iter().any(Shares::in_force), "{shares:?}");
}
