//! Units in, units out.

use super::{Interval, Nanos};
use proptest::prelude::*;

#[test]
fn every_unit_parses() {
    for (text, nanos) in [
        ("250us", 250_000),
        ("250µs", 250_000),
        ("5ms", 5_000_000),
        ("1.5s", 1_500_000_000),
        ("2min", 120_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("7d", 604_800_000_000_000),
        ("17ns", 17),
        ("0", 0),
        (" 3 ms ", 3_000_000),
    ] {
        assert_eq!(text.parse::<Nanos>().unwrap(), Nanos(nanos), "{text}");
    }
}

#[test]
fn bad_times_say_what_is_wrong() {
    for (text, problem) in [
        ("5", "the unit is missing"),
        ("5m", "the unit is not one of"),
        ("ms", "does not start with a number"),
        ("-5ms", "does not start with a number"),
        ("1.2.3ms", "not a plain decimal"),
        ("99999999999999999999s", "too large"),
        ("18446744073709551615s", "too large"),
    ] {
        let error = text.parse::<Nanos>().unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains(text), "{text}: {error}");
    }
}

#[test]
fn printing_keeps_three_digits() {
    for (nanos, text) in [
        (0, "0ns"),
        (999, "999ns"),
        (1_250, "1.25us"),
        (50_000, "50us"),
        (12_340_000, "12.3ms"),
        (1_000_000_000, "1s"),
        (100_400_000_000, "100s"),
    ] {
        assert_eq!(Nanos(nanos).to_string(), text);
    }
}

#[test]
fn intervals_name_their_ends() {
    assert_eq!("none".parse::<Interval>().unwrap(), Interval::NONE);
    assert_eq!("inf".parse::<Interval>().unwrap(), Interval::Infinite);
    assert_eq!(Interval::Infinite.end(Nanos(5)), None);
    assert_eq!(Interval::NONE.end(Nanos(5)), Some(Nanos(5)));
}

proptest! {
    #[test]
    fn any_text_parses_or_says_why(text in "\\PC{0,12}") {
        if let Err(error) = text.parse::<Nanos>() {
            prop_assert!(error.to_string().contains(&text));
        }
    }

    #[test]
    fn printed_times_parse_back_within_one_percent(nanos in 1_u64..1_000_000_000_000_000) {
        let back = Nanos(nanos).to_string().parse::<Nanos>().unwrap().0;
        prop_assert!(back.abs_diff(nanos) * 100 <= nanos, "{nanos} printed and parsed is {back}");
    }
}

#[test]
fn who_acts_at_multiples_acts_together() {
    let period = Nanos::from_millis(10);
    for (now, next) in [(0, 10), (1, 10), (9, 10), (10, 20), (25, 30)] {
        assert_eq!(Nanos::from_millis(now).next_multiple_of(period), Nanos::from_millis(next));
    }
    assert_eq!(Nanos(7).next_multiple_of(Nanos::ZERO), Nanos(8));
}
