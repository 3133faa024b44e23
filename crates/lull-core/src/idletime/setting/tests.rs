use super::*;

const KIB: u64 = 1024;
/// 1% of the time away drains at 100 KB per millisecond.
const OPENING: Opening =
    Opening { share: Share::percent(1), rate: 100_000_000, unseen: Nanos::from_millis(100) };

#[test]
fn the_window_opens_with_the_time_the_foreground_stays_away() {
    let window = |away| OPENING.window(64 * KIB, Foreground::Away(away));
    assert_eq!(OPENING.window(64 * KIB, Foreground::Present), 64 * KIB);
    assert_eq!(window(Nanos::ZERO), 64 * KIB);
    assert_eq!(window(Nanos::from_millis(60)), 64 * KIB, "60 KB drain in 0.6 ms");
    assert_eq!(window(Nanos::from_millis(100)), 100_000);
    assert_eq!(window(Nanos::from_secs(60)), 60_000_000);
    assert_eq!(window(Nanos::from_secs(70)), u64::MAX, "no bound any more");
    assert_eq!(window(Nanos::MAX), u64::MAX);
}

#[test]
fn a_foreground_never_seen_leaves_no_bound_after_a_moment() {
    let window = |span| OPENING.window(KIB, Foreground::Unseen(Nanos::from_millis(span)));
    assert_eq!((window(0), window(50), window(99), window(100)), (KIB, 50_000, 99_000, u64::MAX));
}

#[test]
fn a_fixed_window_never_opens() {
    for foreground in [Foreground::Present, Foreground::Away(Nanos::MAX), Foreground::Unseen(Nanos::MAX)] {
        assert_eq!(Opening::NEVER.window(4 * KIB, foreground), 4 * KIB);
    }
}

#[test]
fn the_span_after_which_the_window_is_wide_enough_is_the_first_one() {
    for wanted in [64 * KIB + 1, 100_000, 12_345_678, UNBOUNDED_BYTES + 1, u64::MAX] {
        for foreground in [Foreground::Away, Foreground::Unseen] {
            let span = OPENING.opens_after(wanted, foreground(Nanos::ZERO)).unwrap();
            assert!(OPENING.window(64 * KIB, foreground(span)) >= wanted);
            assert!(OPENING.window(64 * KIB, foreground(Nanos(span.0 - 1))) < wanted);
        }
    }
    assert_eq!(OPENING.opens_after(1 << 20, Foreground::Present), None, "not by time alone");
    assert_eq!(Opening::NEVER.opens_after(1 << 20, Foreground::Away(Nanos::ZERO)), None);
}
