use proptest::prelude::*;

use super::*;

#[test]
fn reads_and_writes_percentages() {
    for (text, ppm) in [("0%", 0), ("4%", 40_000), ("0.5%", 5_000), ("12.3456%", 123_456), ("100%", WHOLE)] {
        assert_eq!(text.parse::<Share>(), Ok(Share(ppm)), "{text}");
        assert_eq!(Share(ppm).to_string(), text);
    }
    assert_eq!(serde_json::from_str::<Share>("\"4%\"").unwrap(), Share::percent(4));
}

#[test]
fn refuses_what_is_not_a_percentage_and_names_it() {
    for text in ["4", "%", ".5%", "-1%", "100.1%", "1.00001%", "99999999999%", "four%", "1.2.3%"] {
        let error = text.parse::<Share>().unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}'")) && error.contains("percentage"), "{error}");
    }
}

proptest! {
    #[test]
    fn a_share_of_a_span_is_exact(ppm in 0..=WHOLE, span in any::<u64>()) {
        let exact = u128::from(span) * u128::from(ppm) / u128::from(WHOLE);
        prop_assert_eq!(u128::from(Share(ppm).of(Nanos(span)).0), exact);
    }

    #[test]
    fn text_round_trips(ppm in 0..=WHOLE) {
        prop_assert_eq!(Share(ppm).to_string().parse::<Share>(), Ok(Share(ppm)));
    }
}
