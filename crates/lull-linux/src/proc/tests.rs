use super::{StatLine, bytes, parent_of};

#[test]
fn a_name_may_hold_anything() {
    let line = "77 (a) R 1 (b)) S 41 77 77 0 -1 4194560 100 0 9 0 3 4 5 6 20 0 1 0 8812 0 0\n";
    let stat = StatLine::parse(line).unwrap();
    assert_eq!((stat.state(), stat.parent()), (Some('S'), Some(41)));
    assert_eq!((stat.major_faults(), stat.start_ticks()), (Some(9), Some(8812)));
    assert_eq!(
        (stat.number(14), stat.number(17), stat.number(2), stat.number(90)),
        (Some(3), Some(6), None, None)
    );
    assert!(StatLine::parse("77 a S 41").is_none());
}

#[test]
fn a_living_process_has_a_parent() {
    let own = i32::try_from(std::process::id()).unwrap();
    assert_eq!(parent_of(own), Some(nix::unistd::getppid().as_raw()));
    assert_eq!(parent_of(-1), None);
}

#[test]
fn values_of_meminfo_are_bytes() {
    let text = "MemTotal:       24684028 kB\nSwapFree:        1024 kB\nSwapCached:            8 kB\n";
    assert_eq!(bytes(text, "SwapFree"), Some(1 << 20));
    assert_eq!(bytes(text, "Swap"), None);
}
