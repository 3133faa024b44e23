use super::*;
use crate::root::Root;

#[test]
fn root_weights_reach_the_kernel_and_their_groups_go() {
    let root = Root::real();
    let facts = CgroupFacts::read(&root, true);
    let name = GroupName::next(&root);
    let mut job = JobGroup::create(&name, &facts);
    let written = [job.set_least_cpu(&name, &facts), job.set_least_io(&name, &facts)];
    let paths = job.paths();
    let read: Vec<(Written, String)> = written
        .into_iter()
        .flat_map(|written| written.unwrap_or_default())
        .map(|written| (written.clone(), std::fs::read_to_string(&written.file).unwrap_or_default()))
        .collect();
    job.remove().unwrap();
    if read.is_empty() {
        println!("SKIPPED: no group with a weight can be made here");
    }
    for (written, text) in read {
        // A weight with overrides per device reads `default 1`.
        assert_eq!(text.split_whitespace().last(), Some(written.text), "{written:?}");
    }
    assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
}
