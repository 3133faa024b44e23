use proptest::prelude::*;

use super::*;

#[test]
fn sizes_with_units() {
    for (text, bytes) in [
        ("512", 512),
        ("4KiB", 4096),
        ("64 KiB", 65_536),
        ("8.2GB", 8_200_000_000),
        ("1.5MiB", 1_572_864),
        ("0", 0),
    ] {
        assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
    }
}

#[test]
fn errors_name_the_text() {
    for text in ["", "KiB", "4 kib", "1..5MB", "99999999999999999999", "999999999999GiB", "-4KiB"] {
        let error = text.parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}'")), "{error}");
    }
}

proptest! {
    #[test]
    fn exact_sizes_survive_print_and_parse(count in 1_u64..1023, power in 0_u32..4) {
        let size = Bytes(count << (10 * power));
        prop_assert_eq!(size.to_string().parse::<Bytes>(), Ok(size));
    }

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
fn a_size_for_an_experiment_says_its_unit() {
    assert_eq!((size("64MiB"), size("64B"), size("0")), (Ok(Bytes(64 << 20)), Ok(Bytes(64)), Ok(Bytes(0))));
    for text in ["64", "6.", "64 ", "x"] {
        let error = size(text).unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}' is not a size")) && error.contains("64KiB"), "{error}");
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
