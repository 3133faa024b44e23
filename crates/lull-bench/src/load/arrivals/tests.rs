use super::*;

const GAP: Nanos = Nanos::from_micros(1_600);

fn arrivals(spread: Spread, seed: u64) -> Vec<Nanos> {
    warmed_up(Nanos::ZERO, spread, seed).take(50_000).collect()
}

/// Arrivals from the seventh second on, counted after this warm-up.
fn warmed_up(warmup: Nanos, spread: Spread, seed: u64) -> Arrivals {
    let begin = Nanos::from_secs(7);
    Arrivals::new([begin, begin.plus(warmup)], GAP, spread, seed)
}

#[test]
fn a_constant_rate_has_one_gap() {
    let times = arrivals(Spread::Fixed, 3);
    assert_eq!(times[0], Nanos::from_secs(7).plus(GAP));
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == GAP));
}

#[test]
fn poisson_arrivals_have_the_rate_and_the_variance_of_poisson() {
    let times = arrivals(Spread::Exponential, 3);
    let seconds = times.last().unwrap().since(Nanos::from_secs(7)).as_secs_f64();
    let rate = times.len() as f64 / seconds;
    assert!((rate - 625.0).abs() < 10.0, "{rate}");
    // Counts in windows of 100 ms: mean and variance are the same.
    let window = |at: &Nanos| at.since(Nanos::from_secs(7)).as_nanos() / 100_000_000;
    let counts: Vec<f64> =
        times.chunk_by(|a, b| window(a) == window(b)).map(|window| window.len() as f64).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    assert!((variance / mean - 1.0).abs() < 0.2, "{variance} {mean}");
}

#[test]
fn the_seed_alone_decides_the_instants() {
    assert_eq!(arrivals(Spread::Exponential, 3), arrivals(Spread::Exponential, 3));
    assert_ne!(arrivals(Spread::Exponential, 3), arrivals(Spread::Exponential, 4));
}

#[test]
fn what_is_counted_does_not_depend_on_the_warm_up() {
    let counted = |warmup_ms: u64| -> Vec<Nanos> {
        let warmup = Nanos::from_millis(warmup_ms);
        let begun = Nanos::from_secs(7).plus(warmup);
        let arrivals = warmed_up(warmup, Spread::Exponential, 3).skip_while(|at| *at < begun);
        arrivals.take(1_000).map(|at| at.since(begun)).collect()
    };
    assert_eq!(counted(2_000), counted(6_003));
    assert_eq!(counted(2_000), counted(0));
    let before = |at: &Nanos| *at < Nanos::from_secs(9);
    let warm = warmed_up(Nanos::from_secs(2), Spread::Exponential, 3).take_while(before).count();
    assert!((1_100..1_400).contains(&warm), "{warm} in 2 s at 625 a second");
}

#[test]
fn a_constant_rate_goes_on_where_counting_begins() {
    let times: Vec<Nanos> = warmed_up(Nanos::from_millis(5), Spread::Fixed, 3).take(10).collect();
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == GAP));
}

#[test]
fn the_gap_for_a_load_is_the_service_time_over_the_load() {
    let service = Nanos::from_micros(800);
    for (percent, micros) in [(100, 800), (80, 1_000), (50, 1_600), (10, 8_000)] {
        assert_eq!(gap_for_load(service, percent), Nanos::from_micros(micros));
    }
}
