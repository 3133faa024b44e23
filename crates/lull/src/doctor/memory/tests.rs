use super::super::tests::{facts, poor};
use super::*;

fn text(memory: &Memory) -> String {
    let mut page = Page::new(false);
    memory.write(&mut page);
    page.finish()
}

#[test]
fn what_is_missing_is_named() {
    let mut host = facts();
    let stays = |facts: &Facts| Memory::of(facts).cache_stays;
    assert!(stays(&host).is_some_and(|why| why.contains("CAP_DAC_READ_SEARCH")));
    host.user.capabilities.push("CAP_DAC_READ_SEARCH");
    assert_eq!(stays(&host), None);
    host.kernel.version = (6, 1);
    assert!(stays(&host).is_some_and(|why| why.contains("6.5")));
    host.cgroups.v2 = None;
    assert!(stays(&host).is_some_and(|why| why.contains("v2")));
    assert!(stays(&poor()).is_some_and(|why| why.contains("BPF")));
}

#[test]
fn the_page_tells_when_it_begins_and_by_what_memory_is_taken() {
    let mut host = facts();
    let without = text(&Memory::of(&host));
    assert!(without.contains("32 MiB") && without.contains("no memory controller"), "{without}");
    if let Some(own) = &mut host.cgroups.v2 {
        own.memory = true;
    }
    let below = text(&Memory::of(&host));
    assert!(below.contains("memory.high") && !below.contains("made in"), "{below}");
    host.cgroups.v2.as_mut().unwrap().above = Some("/top".into());
    assert!(text(&Memory::of(&host)).contains("made in /top"));
}

#[test]
fn why_the_job_s_group_stays_below_is_told() {
    let mut host = facts();
    host.cgroups.v2.as_mut().unwrap().inside = Some("it would leave a limit".to_owned());
    let by = Memory::of(&host).by;
    assert!(by.contains("process_madvise") && by.contains("it would leave a limit"), "{by}");
}

#[test]
fn without_swap_only_pages_of_files_go() {
    let mut host = facts();
    if let Some(own) = &mut host.cgroups.v2 {
        own.memory = true;
    }
    assert!(text(&Memory::of(&host)).contains("without swap"));
    host.cpu.swap_bytes = 1 << 30;
    assert!(!text(&Memory::of(&host)).contains("without swap"));
}
