use proptest::prelude::*;

use super::*;

fn histogram(values_us: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::default();
    for value in values_us {
        histogram.record(Nanos::from_micros(value));
    }
    histogram
}

/// One gap per request; background delays by 10 ms a request that would take 200 ms.
fn cost(requests: usize) -> Cost {
    Cost { requests: requests as f64, exposure: 1.0, delay: 1e7, cycle: 2e8, unseen: 0.0, period: 1e7 }
}

const TARGET: Target = Target { free: 0.01, budget: 0.04, work_floor: 0.7 };

#[test]
fn each_interval_has_its_loss_and_its_work() {
    let gaps = histogram((0..100).map(|index| if index < 50 { 1_000 } else { 9_000 }));
    let points = candidates(&gaps, &cost(100));
    let [none, long, all] = points[..] else { panic!("{points:?}") };
    assert_eq!((none.loss, none.work), (0.0, 0.0), "no gap is longer than this");
    assert!(long.interval >= Nanos::from_millis(1) && long.interval < Nanos::from_micros(1_150));
    assert!((long.loss - 5.0 / 205.0).abs() < 1e-9, "every other request is delayed: {}", long.loss);
    assert!((long.work - 0.8).abs() < 0.05, "most of the idle time is in the long gaps: {}", long.work);
    assert_eq!(all.interval, Nanos::ZERO);
    assert!((all.loss - 10.0 / 210.0).abs() < 1e-9 && all.work > 0.95);
}

#[test]
fn what_is_free_is_taken_without_asking_for_more() {
    let gaps = histogram((0..100).map(|_| 150_000));
    let harmless = Cost { delay: 1e6, ..cost(100) };
    let mix = choose(&candidates(&gaps, &harmless), &TARGET).unwrap();
    assert_eq!(mix, Mix { low: Nanos::ZERO, high: Nanos::ZERO, share: 1.0 });
}

#[test]
fn gaps_of_one_length_are_shared_by_alternating() {
    let gaps = histogram((0..100).map(|_| 180_000));
    let dear = Cost { delay: 2e7, ..cost(100) };
    let points = candidates(&gaps, &dear);
    let mix = choose(&points, &TARGET).unwrap();
    assert!(mix.low == Nanos::ZERO && mix.high > Nanos::from_millis(180));
    let spent = mix.share * dear.loss(1.0, 0.0);
    assert!((spent - TARGET.budget).abs() < 1e-9, "all of the budget is spent, and no more: {spent}");
}

#[test]
fn no_more_is_spent_than_the_work_floor_asks_for() {
    let gaps = histogram((0..100).map(|_| 180_000));
    let mix = choose(&candidates(&gaps, &cost(100)), &TARGET).unwrap();
    assert!((mix.share - TARGET.work_floor).abs() < 0.05, "{mix:?}");
}

#[test]
fn gaps_that_are_far_too_short_are_not_used_at_any_price() {
    let gaps = histogram((0..100).map(|_| 50));
    let mix = choose(&candidates(&gaps, &cost(100)), &TARGET).unwrap();
    assert_eq!(mix.low, mix.high);
    assert!(mix.low > Nanos::from_micros(50));
}

proptest! {
    #[test]
    fn the_budget_is_never_exceeded_and_single_intervals_never_beat_the_choice(
        gaps in prop::collection::vec(1..1_000_000_u64, 1..100),
        delay in 1.0..1e8_f64,
        cycle in 1e3..1e9_f64,
        unseen in 0.0..1e7_f64,
    ) {
        let cost = Cost { requests: gaps.len() as f64, exposure: 1.0, delay, cycle, unseen, period: 1e6 };
        let points = candidates(&histogram(gaps), &cost);
        let hull = hull(&points);
        for pair in hull.windows(2) {
            prop_assert!(pair[0].loss < pair[1].loss && pair[0].work < pair[1].work, "{hull:?}");
        }
        let Some(mix) = choose(&points, &TARGET) else { return Ok(()) };
        let at = |interval| points.iter().find(|point| point.interval == interval).copied().unwrap();
        let (low, high) = (at(mix.low), at(mix.high));
        let loss = mix.share * low.loss + (1.0 - mix.share) * high.loss;
        let least = hull.first().map_or(0.0, |point| point.loss);
        prop_assert!(loss <= (TARGET.budget * (1.0 + NEARLY)).max(least) + 1e-12, "{loss}");
        let work = mix.share * low.work + (1.0 - mix.share) * high.work;
        for point in points.iter().filter(|point| point.loss <= loss) {
            prop_assert!(point.work <= work + NEARLY + 1e-9, "{point:?} against {work} at {loss}");
        }
    }
}
