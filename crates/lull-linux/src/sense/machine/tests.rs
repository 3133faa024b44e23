use super::*;

#[test]
fn idling_waiting_for_disks_and_guests_are_not_busy() {
    let stat = "cpu  10 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
    let times = MachineTimes::parse(stat, |ticks| Nanos::from_millis(10 * ticks)).unwrap();
    let ms = Nanos::from_millis;
    assert_eq!(times, MachineTimes { tasks: ms(600), interrupts: ms(130), stolen: ms(80) });
    assert_eq!(times.busy(), ms(730));
    let earlier = MachineTimes { tasks: ms(570), ..times };
    assert_eq!(times.since(earlier), MachineTimes { tasks: ms(30), ..MachineTimes::default() });
}

#[test]
fn lines_of_other_shapes_say_nothing() {
    for stat in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7"] {
        assert_eq!(MachineTimes::parse(stat, |ticks| Nanos::from_millis(10 * ticks)), None, "{stat}");
    }
}

#[test]
fn this_machine_tells() {
    assert!(MachineTimes::now().unwrap().tasks > Nanos::ZERO);
}

#[test]
fn a_group_tells_its_own_time() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(group_time(dir.path()), None);
    std::fs::write(dir.path().join("cpu.stat"), "nr_periods 0\nusage_usec 1500\nuser_usec 1000\n").unwrap();
    assert_eq!(group_time(dir.path()), Some(Nanos::from_micros(1_500)));
    std::fs::write(dir.path().join("cpu.stat"), "nr_periods 0\n").unwrap();
    assert_eq!(group_time(dir.path()), None);
    std::fs::write(dir.path().join("cpuacct.usage"), "1500\n").unwrap();
    assert_eq!(group_time(dir.path()), Some(Nanos(1_500)), "version 1 counts nanoseconds");
}
