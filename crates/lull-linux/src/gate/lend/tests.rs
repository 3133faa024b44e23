use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::cgroup::GroupName;
use crate::probe::CgroupFacts;

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn chosen(cores: &[&str], count: usize, used: &[f64], lent: &str, margin: f64) -> String {
    let cores: Vec<CpuSet> = cores.iter().map(|core| set(core)).collect();
    choose(&[], &cores, count, |cpu| used[cpu as usize], &set(lent), margin).to_string()
}

#[test]
fn cpus_of_the_node_that_the_foreground_uses_least_come_first_and_busy_ones_last() {
    let nodes = ["0-2", "3-5"].map(set);
    let cores = ["0", "1", "2", "3", "4", "5"].map(set);
    let used = [0.3, 0.2, 0.3, 0.4, 0.0, 0.0];
    let lent = |count| choose(&nodes, &cores, count, |cpu| used[cpu as usize], &set(""), 0.1).to_string();
    assert_eq!([1, 2, 3, 4].map(lent), ["5", "4-5", "3-5", "1,3-5"]);
    let used = [0.3, 0.2, 0.3, 0.6, 0.0, 0.0];
    let lent = |count| choose(&nodes, &cores, count, |cpu| used[cpu as usize], &set(""), 0.1).to_string();
    assert_eq!([3, 6].map(lent), ["1,4-5", "0-5"]);
}

#[test]
fn whole_cores_that_the_foreground_uses_least_are_lent_first() {
    let used = [0.5, 0.0, 0.1, 0.0, 0.0, 0.9];
    // CPU 4 is free, but its core is the busiest.
    assert_eq!(chosen(&["0-1", "2-3", "4-5"], 2, &used, "", 0.0), "2-3");
    assert_eq!(chosen(&["0-1", "2-3", "4-5"], 3, &used, "", 0.0), "1-3");
    assert_eq!(chosen(&["0-1", "2-3", "4-5"], 5, &used, "", 0.0), "0-4");
    assert_eq!(chosen(&["0-1", "2-3", "4-5"], 9, &used, "", 0.0), "0-5");
    assert_eq!(chosen(&["0-1", "2-3", "4-5"], 1, &used, "", 0.0), "3", "the quieter sibling");
}

#[test]
fn what_is_lent_stays_lent_unless_others_are_clearly_better() {
    let used = [0.10, 0.12];
    assert_eq!(chosen(&["0", "1"], 1, &used, "", 0.05), "0");
    assert_eq!(chosen(&["0", "1"], 1, &used, "1", 0.05), "1");
    assert_eq!(chosen(&["0", "1"], 1, &used, "1", 0.01), "0");
    assert_eq!(chosen(&["0", "1"], 1, &[0.0, 0.0], "", 0.0), "1", "interrupts favour CPU 0");
}

proptest! {
    #[test]
    fn as_many_are_lent_as_asked_for(
        used in proptest::collection::vec(0.0_f64..1.0, 8),
        count in 0_usize..12,
        lent in proptest::collection::btree_set(0_u32..8, 0..8),
        siblings: bool,
    ) {
        let width = if siblings { 2 } else { 1 };
        let cores: Vec<CpuSet> =
            (0..8).step_by(width).map(|first| (first..first + u32::try_from(width).unwrap()).collect()).collect();
        let chosen = choose(&[], &cores, count, |cpu| used[cpu as usize], &lent.into_iter().collect(), 0.1);
        prop_assert_eq!(chosen.len(), count.min(8));
        // At most one core is lent in part.
        let partly = cores.iter().filter(|core| ![0, core.len()].contains(&core.and(&chosen).len()));
        prop_assert!(partly.count() <= 1);
    }
}

/// A job of a shell and what it starts; killed when dropped.
struct Job(Child);

impl Job {
    fn shell(script: &str) -> Self {
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        Self(child)
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    /// The shell and its children.
    fn pids(pid: i32) -> Vec<i32> {
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let children = children.split_whitespace().map(|child| child.parse().unwrap());
        std::iter::once(pid).chain(children.collect::<Vec<_>>()).collect()
    }

    fn children(&self, count: usize) -> Vec<i32> {
        let begun = Instant::now();
        loop {
            let children = Self::pids(self.pid()).split_off(1);
            if children.len() == count {
                return children;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{children:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for pid in Self::pids(self.pid()).into_iter().rev() {
            // SAFETY: plain integers; the processes are this test's own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let _ = self.0.wait();
    }
}

/// Two of this host's CPUs, if it has them.
fn two() -> Option<(CpuSet, CpuSet)> {
    let own = affinity(0).unwrap();
    let mut cpus = own.iter();
    let (Some(first), Some(second)) = (cpus.next(), cpus.next()) else {
        eprintln!("SKIPPED: one CPU only");
        return None;
    };
    Some((CpuSet::from_iter([first]), CpuSet::from_iter([second])))
}

fn lender_by_threads(pid: i32) -> Lender {
    Lender::new(&Root::real(), None, Box::new(move || Job::pids(pid)))
}

#[test]
fn threads_are_confined_and_get_back_what_they_had_or_chose() {
    let Some((first, second)) = two() else { return };
    let own = affinity(0).unwrap();
    let job = Job::shell("sleep 1000 & sleep 1000 & sleep 1000 & read go; sleep 1000 & wait");
    let children = job.children(3);
    // The job has bound one child to the first CPU, another to the second.
    set_affinity(children[0], &first).unwrap();
    set_affinity(children[1], &second).unwrap();
    let of = |tid: i32| affinity(tid).unwrap();
    let mut lender = lender_by_threads(job.pid());
    assert!(!lender.is_by_group());
    lender.confine(&second).unwrap();
    assert_eq!((of(job.pid()), of(children[2])), (second.clone(), second.clone()));
    assert_eq!(
        (of(children[0]), of(children[1])),
        (first.clone(), second.clone()),
        "the job's own choices stand"
    );
    // A child that is born confined, and a choice that the job makes meanwhile.
    use std::io::Write;
    job.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    let born = job.children(4)[3];
    assert_eq!(of(born), second);
    set_affinity(children[2], &first).unwrap();
    lender.confine(&second).unwrap();
    drop(lender);
    assert_eq!((of(job.pid()), of(born)), (own.clone(), own), "restored, also who was born confined");
    assert_eq!((of(children[0]), of(children[1]), of(children[2])), (first.clone(), second, first));
}

#[test]
fn a_thread_that_changes_hands_between_two_choices_keeps_its_own() {
    let Some((first, second)) = two() else { return };
    let own = affinity(0).unwrap();
    let job = Job::shell("read go");
    let mut lender = lender_by_threads(job.pid());
    lender.confine(&first).unwrap();
    lender.confine(&second).unwrap();
    assert_eq!(affinity(job.pid()).unwrap(), second);
    lender.restore().unwrap();
    assert_eq!(affinity(job.pid()).unwrap(), own);
    release(&[job.pid()], &first);
    assert_eq!(affinity(job.pid()).unwrap(), first);
}

#[test]
fn root_a_group_is_confined_by_one_write_and_given_all_back() {
    let Some((first, _)) = two() else { return };
    let facts = CgroupFacts::read(&Root::real(), true);
    if facts.confining().is_none() {
        eprintln!("SKIPPED: no cpuset can be had here");
        return;
    }
    let group = JobGroup::create(&GroupName::next(&Root::real()), &facts);
    let job = Job::shell("sleep 1000 & sleep 1000 & read go");
    let own = affinity(job.pid()).unwrap();
    let children = job.children(2);
    for pid in Job::pids(job.pid()) {
        group.add(pid).unwrap();
    }
    set_affinity(children[0], &first).unwrap();
    let mut lender = Lender::new(&Root::real(), Some(&group), Box::new(Vec::new));
    assert!(lender.is_by_group());
    // The last CPU is the one that is used least.
    let last = lender.all().iter().last().unwrap();
    let lent = lender.lend(1, |cpu| if cpu == last { 0.0 } else { 1.0 }, 0.0).unwrap().clone();
    assert_eq!(lent, CpuSet::from_iter([last]));
    assert_eq!((affinity(job.pid()).unwrap(), affinity(children[1]).unwrap()), (lent.clone(), lent));
    lender.widen();
    assert_eq!((affinity(job.pid()).unwrap(), affinity(children[0]).unwrap()), (own.clone(), first.clone()));
    lender.lend(1, |cpu| if cpu == last { 1.0 } else { 0.0 }, 0.0).unwrap();
    assert_eq!(affinity(job.pid()).unwrap(), own, "what is lent meanwhile counts from then on");
    lender.narrow();
    assert_eq!(affinity(job.pid()).unwrap(), *lender.lent());
    assert!(lender.is_confined() && !lender.lent().contains(last));
    lender.lend(usize::MAX, |_| 0.0, 0.0).unwrap();
    assert_eq!(affinity(job.pid()).unwrap(), own);
    assert_eq!(affinity(children[0]).unwrap(), first, "the job's own choice is back");
    lender.lend(1, |_| 0.0, 0.0).unwrap();
    drop(lender);
    assert_eq!(affinity(job.pid()).unwrap(), own);
    drop(job);
    group.remove().unwrap();
}
