use super::*;

const LINE: &str = "42 (a) b c) R 1 42 42 0 -1 2129984 5 6 7 8 100 20 3 4 20 0 1 0 99 0 0";

#[test]
fn a_name_with_parentheses_does_not_shift_the_fields() {
    let stat = StatLine::parse(LINE).unwrap();
    assert_eq!((stat.state(), stat.parent()), (Some('R'), Some(1)));
    assert_eq!((stat.own_ticks(), stat.childrens_ticks()), (Some(120), Some(7)));
    assert!(stat.is_kernel_thread() && stat.wants());
    assert_eq!(StatLine::parse("42 (short) R 1 2").unwrap().own_ticks(), None);
}

#[test]
fn bytes_of_calls_are_counted_and_those_of_the_disk_are_not() {
    assert_eq!(io_bytes("rchar: 10\nwchar: 5\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\n"), 15);
}

#[test]
fn this_process_computes_and_reads() {
    let own = [i32::try_from(std::process::id()).unwrap()];
    let before = usage(&own);
    // Long enough for a tick of 10 ms, whatever else the machine does: the kernel counts what we use, not what passes.
    let used = || usage(&own).cpu.since(before.cpu);
    let mut read = 0;
    // Read first: the tick may already be over when it is looked at for the first time.
    loop {
        read += std::fs::read("/proc/self/stat").unwrap().len() as u64;
        if used() > Nanos::ZERO {
            break;
        }
    }
    let after = usage(&own);
    assert!(read > 0 && after.io_bytes >= before.io_bytes + read, "{before:?}, {after:?}, {read} read");
    assert!(after.wants, "who asks runs");
    assert_eq!(usage(&[-1]), Usage::default(), "nobody has used anything");
}

#[test]
fn the_process_of_the_test_is_among_all_and_is_no_kernel_thread() {
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(all().contains(&own));
    assert!(!StatLine::of(own).unwrap().is_kernel_thread());
}

#[test]
fn what_a_program_and_its_children_ran_is_counted_and_kernel_threads_are_not() {
    let own = i32::try_from(std::process::id()).unwrap();
    let before = time_of_programs(&[own]);
    let used = || time_of_programs(&[own]).since(before);
    while used() < Nanos::from_millis(20) {}
    let alone = used();
    let status = std::process::Command::new("sh")
        .args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"])
        .status()
        .unwrap();
    assert!(status.success() && used() > alone, "{alone}, then {}", used());
    assert_eq!(time_of_programs(&[]), Nanos::ZERO);
    let is_kernel_thread = |pid: &i32| StatLine::of(pid).is_some_and(|stat| stat.is_kernel_thread());
    let threads: Vec<i32> = all().into_iter().filter(is_kernel_thread).collect();
    assert_eq!(time_of_programs(&threads), Nanos::ZERO);
}

#[test]
fn a_family_is_a_process_and_its_descendants() {
    let mut child = std::process::Command::new("sh")
        .args(["-c", "sleep 600 & echo; wait"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The line says that the grandchild is there.
    std::io::Read::read(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let found = family(pid);
    assert_eq!((found[0], found.len()), (pid, 2), "{found:?}");
    assert!(family(i32::try_from(std::process::id()).unwrap()).contains(&found[1]));
    assert!(!is_stopped(found[1]));
    for pid in found {
        // SAFETY: plain integers; both are ours.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    child.wait().unwrap();
}

#[test]
fn a_program_is_named_by_its_file_and_keeps_its_name_when_the_file_goes() {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| dir.path().join(name));
    for copy in [&old, &new] {
        std::fs::copy("/bin/sleep", copy).unwrap();
    }
    let mut child = std::process::Command::new(&old).arg("600").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let name = || programs(&[pid]).first().map(|program| program.name.clone()).unwrap_or_default();
    // Until exec it is a copy of this test.
    while !name().starts_with(old.to_str().unwrap()) {
        std::thread::yield_now();
    }
    let before = name();
    std::fs::rename(&new, &old).unwrap();
    assert_eq!(name(), before, "it still runs the file that is gone");
    let mut upgraded = std::process::Command::new(&old).arg("600").spawn().unwrap();
    let its_pid = i32::try_from(upgraded.id()).unwrap();
    let its_name = || programs(&[its_pid]).first().map(|program| program.name.clone()).unwrap_or_default();
    while !its_name().starts_with(old.to_str().unwrap()) {
        std::thread::yield_now();
    }
    assert_ne!(its_name(), before);
    for process in [&mut child, &mut upgraded] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(programs(&[pid]), []);
}
