//! Sizes as they are written.

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

#[test]
fn a_size_for_an_experiment_says_its_unit() {
    assert_eq!((size("64MiB"), size("64B"), size("0")), (Ok(Bytes(64 << 20)), Ok(Bytes(64)), Ok(Bytes(0))));
    for text in ["64", "6.", "64 ", "x"] {
        let error = size(text).unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}' is not a size")) && error.contains("64KiB"), "{error}");
    }
}

proptest! {
    #[test]
    fn exact_sizes_survive_print_and_parse(count in 1_u64..1023, power in 0_u32..4) {
        let size = Bytes(count << (10 * power));
        prop_assert_eq!(size.to_string().parse::<Bytes>(), Ok(size));
    }
}
