use super::*;

const PROMISE: f64 = 0.04;
const SERVICE: f64 = 100_000.0;

fn found(loss: f64) -> Finding {
    Finding {
        loss,
        error: 0.0,
        is_late: false,
        service: Some(SERVICE),
        rate: 1e-5,
        is_full: true,
        is_open: false,
    }
}

fn second(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

/// What a disk costs on which the loss is `each` for each request under the window, and all run side by side.
fn settle(steering: &mut Steering, each: f64, looks: std::ops::Range<u64>) -> Vec<u64> {
    looks
        .map(|look| {
            let requests = steering.window() / LEAST_BYTES;
            steering.adjust(second(look), &found(each * requests as f64), PROMISE);
            steering.window() / LEAST_BYTES
        })
        .collect()
}

#[test]
fn the_window_leaps_at_first_and_ends_where_the_loss_is_the_promise() {
    let mut steering = Steering::new();
    let windows = settle(&mut steering, 0.001, 0..8);
    assert_eq!(windows[0], 16, "four times at once");
    assert_eq!(windows[7], 40);
}

#[test]
fn beyond_the_promise_it_shrinks_to_where_that_is_kept_but_by_no_more_than_half() {
    let mut steering = Steering::new();
    steering.window = 40 * LEAST_BYTES;
    assert_eq!(settle(&mut steering, 0.00125, 0..1), [32]);
    assert_eq!(settle(&mut steering, 0.02, 1..5), [16, 8, 4, 2]);
    let late = Finding { is_late: true, ..found(0.0) };
    assert!(steering.adjust(second(9), &late, PROMISE) && steering.window() == LEAST_BYTES);
}

#[test]
fn in_doubt_nothing_moves() {
    let mut steering = Steering::new();
    for loss in [0.03, 0.039, 0.041, 0.05] {
        let doubt = Finding { error: 0.012, ..found(loss) };
        assert!(!steering.adjust(second(1), &doubt, PROMISE), "{loss}");
    }
    let unused = Finding { is_full: false, ..found(0.0) };
    assert!(!steering.adjust(second(1), &unused, PROMISE), "what is not used up does not grow");
}

#[test]
fn at_the_smallest_window_the_interval_grows_from_a_service_time_and_shrinks_to_none() {
    let mut steering = Steering::new();
    steering.begin_slowly(Nanos::ZERO);
    let mut intervals = Vec::new();
    for look in 0..3 {
        steering.adjust(second(look), &found(0.5), PROMISE);
        intervals.push(steering.interval().0);
    }
    assert_eq!(intervals, [100_000, 200_000, 400_000]);
    for look in 3..20 {
        steering.adjust(second(look), &found(0.001), PROMISE);
    }
    assert_eq!(steering.interval(), Nanos::ZERO);
}

#[test]
fn an_interval_that_was_too_short_is_not_tried_again_soon() {
    let mut steering = Steering::new();
    steering.begin_slowly(Nanos::ZERO);
    let cliff = |steering: &Steering| found(if steering.interval() < Nanos(1_000_000) { 0.5 } else { 0.001 });
    let mut changes = 0;
    for look in 0..200 {
        let finding = cliff(&steering);
        changes += u32::from(steering.adjust(second(look), &finding, PROMISE));
    }
    assert!(changes < 20, "{changes}");
    assert!(steering.interval() >= Nanos(800_000));
}

#[test]
fn an_interval_that_gets_less_done_than_the_credits_do_is_given_up() {
    let mut steering = Steering::new();
    steering.begin_slowly(Nanos::ZERO);
    // With it the promise is kept, but next to nothing is done.
    let regular = |steering: &Steering| match steering.interval() {
        Nanos::ZERO => found(0.12),
        _ => Finding { rate: 1e-8, ..found(0.0) },
    };
    for look in 0..2 {
        let finding = regular(&steering);
        steering.adjust(second(look), &finding, PROMISE);
    }
    assert_eq!(steering.interval(), Nanos::ZERO);
    let finding = regular(&steering);
    assert!(!steering.adjust(second(3), &finding, PROMISE), "not again for a while");
    assert!(steering.adjust(second(9), &finding, PROMISE));
}

#[test]
fn a_window_that_gets_no_more_done_goes_back() {
    let mut steering = Steering::new();
    steering.adjust(second(0), &found(0.0), PROMISE);
    assert_eq!(steering.window(), 16 * LEAST_BYTES);
    // Four times as much in service, and each takes four times as long: the device did all it can before.
    let slower = Finding { service: Some(4.0 * SERVICE), ..found(0.0) };
    steering.adjust(second(1), &slower, PROMISE);
    assert_eq!(steering.window(), START_BYTES);
    for look in 2..5 {
        steering.adjust(second(look), &found(0.0), PROMISE);
        assert!(steering.window() < 16 * LEAST_BYTES, "not again for a while");
    }
}
