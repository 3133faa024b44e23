use super::*;

pub(super) mod gps;

#[test]
fn a_weight_is_never_nothing() {
    assert_eq!(Weight::new(0), Weight::LEAST);
    assert_eq!(Weight::of(0, 100).parts(), 1);
    assert_eq!(Weight::of(50, 100).parts(), 500_000);
    assert_eq!(Weight::of(u64::MAX, 1).parts(), u32::MAX);
    assert_eq!(Weight::of(1, 0).parts(), 1_000_000);
}

#[test]
fn virtual_time_is_service_per_weight() {
    assert_eq!(Virtual::of(6, Weight::new(3)), Virtual::of(2, Weight::new(1)));
    assert!((Virtual::of(1, Weight::new(4)).as_f64() - 0.25).abs() < 1e-9);
    assert!(Virtual::of(u64::MAX, Weight::LEAST) > Virtual::of(u64::MAX - 1, Weight::LEAST));
}
