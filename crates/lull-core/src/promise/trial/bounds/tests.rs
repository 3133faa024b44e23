use proptest::prelude::*;

use super::*;

fn sums(pairs: &[(f64, f64)]) -> Sums {
    let mut sums = Sums::default();
    for (num, den) in pairs {
        sums.add(*num, *den);
    }
    sums
}

/// The inequality of the module's documentation, by the letter.
fn excludes(pairs: &[(f64, f64)], ratio: f64, alpha: f64) -> bool {
    let n = pairs.len() as f64;
    let residuals = pairs.iter().map(|(num, den)| num - ratio * den);
    let (s, q) = residuals.fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    s * s > (1.0 + HEAD_START / n) * ((n + HEAD_START) / (HEAD_START * alpha * alpha)).ln() * q
}

#[test]
fn without_pairs_nothing_is_excluded() {
    assert_eq!(Sums::default().interval(0.05), (0.0, f64::INFINITY));
    assert_eq!(Sums::default().ratio(), f64::INFINITY);
}

#[test]
fn a_few_pairs_exclude_nothing_however_alike_and_eleven_do() {
    for n in 1..=10 {
        assert_eq!(sums(&vec![(2.0, 1.0); n]).interval(0.05).1, f64::INFINITY, "{n} pairs");
    }
    let (low, high) = sums(&[(2.0, 1.0); 11]).interval(0.05);
    assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9, "{low} {high}");
}

#[test]
fn one_outlier_widens_the_interval_and_does_not_move_it_away() {
    let mut pairs = vec![(1.0, 1.0), (1.1, 1.0), (0.9, 1.0), (1.0, 1.05)];
    pairs = pairs.repeat(8);
    let (low, high) = sums(&pairs).interval(0.05);
    pairs.push((50.0, 1.0));
    let (outlying_low, outlying_high) = sums(&pairs).interval(0.05);
    assert!(outlying_low < low && high < outlying_high, "{outlying_low} {low} {high} {outlying_high}");
}

proptest! {
    #[test]
    fn the_closed_form_solves_the_inequality(
        pairs in prop::collection::vec((0.01..10.0_f64, 0.01..10.0_f64), 1..200),
        alpha in 0.001..0.2_f64,
    ) {
        let all = sums(&pairs);
        let (low, high) = all.interval(alpha);
        prop_assert!(low <= all.ratio() && all.ratio() <= high);
        prop_assert!(low == 0.0 || excludes(&pairs, low * 0.999, alpha));
        prop_assert!(!excludes(&pairs, low * 1.001 + 1e-9, alpha) || high / low < 1.003);
        prop_assert!(high.is_infinite() || excludes(&pairs, high * 1.001, alpha));
        prop_assert!(high.is_infinite() || !excludes(&pairs, high * 0.999, alpha) || high / low < 1.003);
    }

    #[test]
    fn units_cancel(pairs in prop::collection::vec((0.1..10.0_f64, 0.1..10.0_f64), 12..60), unit in 1e-6..1e9_f64) {
        let scaled: Vec<_> = pairs.iter().map(|(num, den)| (num * unit, den * unit)).collect();
        let ((low, high), (scaled_low, scaled_high)) = (sums(&pairs).interval(0.05), sums(&scaled).interval(0.05));
        prop_assert!((low - scaled_low).abs() <= 1e-6 * (1.0 + low));
        prop_assert!(high.is_infinite() == scaled_high.is_infinite());
        prop_assert!(high.is_infinite() || (high - scaled_high).abs() <= 1e-5 * high);
    }
}
