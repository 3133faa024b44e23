use super::*;

#[test]
fn bytes_have_units() {
    assert_eq!(bytes(12), "12 B");
    assert_eq!(bytes(1536), "1.5 KiB");
    assert_eq!(bytes(3 << 30), "3.0 GiB");
}

#[test]
fn what_is_proved_of_a_slowdown_is_the_lower_end_if_that_is_one() {
    let slowdown = |low| SlowdownSummary { ratio: 1.1, low, high: None, pairs: 20 };
    assert!((slowdown(1.03).proved() - 0.03).abs() < 1e-9);
    assert!(slowdown(0.9).proved().abs() < 1e-9);
}
