#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Child, Command, Stdio};

use super::processes::ProcessMemory;
use super::{Thresholds, free_swap, group::GroupMemory};
use crate::cgroup::GroupName;
use crate::cgroup::memory::MemoryGroup;
use crate::probe::CgroupFacts;
use crate::root::Root;

const MIB: u64 = 1 << 20;

/// A process that reads a cached file into the group `group` enters by itself.
fn reader(group: &MemoryGroup, file: &std::path::Path) -> Child {
    let script = "echo $$ > \"$0/cgroup.procs\" && cat \"$1\" > /dev/null && echo done && exec sleep 60";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(group.path()).arg(file).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn root_a_group_gives_page_cache_without_swap() {
    let root = Root::real();
    let group = match MemoryGroup::create(&GroupName::next(&root), &CgroupFacts::read(&root, true)) {
        Ok(group) => group,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![7; usize::try_from(32 * MIB).unwrap()]).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    let whole =
        lull_core::memory::pages::Run { first: 0, pages: 32 * MIB / crate::gate::evict::page_bytes() };
    crate::gate::evict::evict(&file, 0, whole).unwrap();
    let mut child = reader(&group, &path);
    let mut said = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut said)
        .unwrap();
    let mut memory = GroupMemory::new(root.clone(), group.clone(), Box::new(Vec::new));
    let before = memory.job().unwrap();
    let paged_out = memory.page_out(12 * MIB);
    let after = memory.job().unwrap();
    memory.release();
    let limit = group.limit();
    child.kill().unwrap();
    child.wait().unwrap();
    group.remove().unwrap();
    assert!(before.cache >= 32 * MIB, "{before:?}");
    assert!(after.resident + 8 * MIB <= before.resident, "{before:?} {after:?} {paged_out:?}");
    assert_eq!(limit, None, "nothing stays set");
}

#[test]
fn root_processes_are_paged_out_where_there_is_swap() {
    let root = Root::real();
    if free_swap(&root) < 64 * MIB {
        eprintln!("SKIPPED: no swap here");
        return;
    }
    // A shell that holds a long string.
    let script = "x=$(head -c 8000000 /dev/zero | tr '\\0' x); echo ${#x}; read y";
    let mut child = Command::new("sh");
    child.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut said = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut said)
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let mut memory = ProcessMemory::new(Box::new(move || vec![pid]));
    let before = memory.job().unwrap();
    let paged_out = memory.page_out(4 * MIB);
    let after = memory.job().unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(paged_out.is_ok() && after.paged_out >= before.paged_out + 4 * MIB, "{before:?} {after:?}");
}
