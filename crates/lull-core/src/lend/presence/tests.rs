use super::*;

fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

#[test]
fn it_counts_as_at_work_at_first_and_goes_when_nothing_comes() {
    let mut presence = Presence::new(secs(2));
    assert!(presence.look(secs(10), 0, false));
    assert!(presence.look(secs(11), 0, false));
    assert!(!presence.look(secs(12), 0, false));
    assert!(presence.look(secs(13), 1, false), "back with the first request");
    assert!(!presence.look(secs(15), 1, false));
}

#[test]
fn a_request_in_service_is_at_work_however_long_it_takes() {
    let mut presence = Presence::new(secs(2));
    for at in 0..100 {
        assert!(presence.look(secs(at), 5, true));
    }
    assert!(presence.look(secs(100), 5, false));
    assert!(!presence.look(secs(102), 5, false));
}

#[test]
fn a_sensor_that_restarts_is_no_absence() {
    let mut presence = Presence::new(secs(2));
    presence.look(secs(0), 1000, false);
    assert!(presence.look(secs(10), 3, false));
}

#[test]
fn the_share_of_busy_time_is_known_with_and_without_the_latest() {
    let mut presence = Presence::new(secs(2));
    for at in 0..8 {
        presence.look(secs(at), 5 + at, at % 2 == 1);
    }
    presence.look(secs(8), 12, true);
    presence.look(secs(9), 12, true);
    assert!((presence.occupied() - 6.0 / 9.0).abs() < 1e-9);
    assert_eq!(presence.occupied_beside(secs(3)), Some(0.5));
    assert_eq!(presence.occupied_beside(secs(9)), None, "nothing is left");
}
