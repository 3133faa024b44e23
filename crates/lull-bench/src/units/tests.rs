use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn whole_is_the_nearest(value in 0.0_f64..1e15) {
        prop_assert!((whole(value) as f64 - value).abs() <= 0.5);
    }
}

#[test]
fn a_percentage_has_its_sign_or_not() {
    assert_eq!((percent("25"), percent("25%"), percent("100%")), (Ok(25), Ok(25), Ok(100)));
    for text in ["0%", "101", "25%%", "2.5%", "%", ""] {
        assert!(percent(text).is_err_and(|told| told.contains("25%")), "{text}");
    }
}

#[test]
fn one_is_not_many() {
    assert_eq!([0, 1, 2].map(|number| count(number, "round")), ["0 rounds", "1 round", "2 rounds"]);
}

#[test]
fn seconds_are_plain_or_say_their_unit() {
    for (text, value) in [("2", 2.0), ("0.5", 0.5), ("0", 0.0), ("2s", 2.0), ("500ms", 0.5), ("1min", 60.0)] {
        assert_eq!(seconds(text), Ok(value), "{text}");
    }
    for text in ["", "-1", "nan", "inf", "2x", "s"] {
        assert!(seconds(text).is_err_and(|told| told.contains("500ms")), "{text}");
    }
    assert_eq!(
        (some_seconds("1"), some_seconds("0").is_err(), some_seconds("0s").is_err()),
        (Ok(1.0), true, true)
    );
}
