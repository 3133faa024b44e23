use super::*;

#[test]
fn idling_waiting_for_disks_and_guests_are_not_busy() {
    let stat = "cpu  10 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
    let times = MachineTimes::parse(stat, 100).unwrap();
    assert_eq!(times, MachineTimes { busy: Nanos::from_millis(730), stolen: Nanos::from_millis(80) });
    let earlier = MachineTimes { busy: Nanos::from_millis(700), stolen: Nanos::from_millis(80) };
    assert_eq!(times.since(earlier), MachineTimes { busy: Nanos::from_millis(30), stolen: Nanos::ZERO });
}

#[test]
fn lines_of_other_shapes_say_nothing() {
    for stat in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7"] {
        assert_eq!(MachineTimes::parse(stat, 100), None, "{stat}");
    }
}

#[test]
fn this_machine_tells() {
    assert!(MachineTimes::now().unwrap().busy > Nanos::ZERO);
}
