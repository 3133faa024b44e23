use super::*;

#[test]
fn fixed_never_varies() {
    let mut think = Think::new(Nanos::from_micros(200), Spread::Fixed, 7);
    assert!((0..100).all(|_| think.next_span() == Nanos::from_micros(200)));
}

#[test]
fn exponential_has_its_mean_and_its_spread() {
    let mut think = Think::new(Nanos::from_millis(20), Spread::Exponential, 7);
    let draws: Vec<f64> = (0..100_000).map(|_| think.next_span().as_secs_f64()).collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let deviation = (draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt();
    assert!((mean - 0.020).abs() < 0.000_5, "{mean}");
    assert!((deviation / mean - 1.0).abs() < 0.02, "{deviation}");
}

#[test]
fn a_seed_repeats_itself() {
    let draw = |seed| {
        let mut think = Think::new(Nanos::from_millis(1), Spread::Exponential, seed);
        (0..10).map(|_| think.next_span()).collect::<Vec<_>>()
    };
    assert_eq!(draw(3), draw(3));
    assert_ne!(draw(3), draw(4));
}

#[test]
fn intensity_is_the_busy_share() {
    let service = Nanos::from_millis(20);
    assert_eq!(for_intensity(service, 10), Nanos::from_millis(180));
    assert_eq!(for_intensity(service, 50), Nanos::from_millis(20));
    assert_eq!(for_intensity(service, 100), Nanos::ZERO);
}

#[test]
fn the_counted_time_begins_anew_wherever_the_warm_up_was() {
    let begun = Nanos::from_secs(5);
    let first = |last_ms: u64| {
        let mut think = Warmed::new(begun, Nanos::from_secs(60), Spread::Exponential, 3);
        think.next_after(Nanos::from_millis(last_ms))
    };
    assert_eq!(first(0), first(4_990));
    // A request was in service when the counting began: what follows it is as long.
    assert_eq!(first(5_300).since(Nanos::from_millis(5_300)), first(0).since(begun));
}
