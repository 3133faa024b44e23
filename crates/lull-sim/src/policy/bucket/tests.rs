use super::*;
use proptest::prelude::*;

#[test]
fn an_empty_bucket_says_when_it_will_hold_enough() {
    let setting = BucketSetting { budget: Loss::percent(10), cap: Nanos(100), assumed: Nanos(50) };
    let mut bucket = Bucket::new(setting);
    assert_eq!(bucket.affordable_from(Nanos(1)), Nanos(1));
    bucket.pay(Nanos(1_000), Nanos(100));
    assert_eq!(bucket.affordable_from(Nanos(1_000)), Nanos(1_501));
    assert_eq!(bucket.affordable_from(Nanos(1_501)), Nanos(1_501));
    bucket.served(Nanos(80));
    assert!(bucket.affordable_from(Nanos(1_501)) > Nanos(1_501), "a longer request needs more");
    let none = BucketSetting { budget: Loss::ZERO, ..setting };
    let mut bucket = Bucket::new(none);
    bucket.pay(Nanos(5), Nanos(60));
    assert_eq!(bucket.affordable_from(Nanos(6)), Nanos::MAX);
}

proptest! {
    /// Whatever is paid for only when it can be afforded, no window costs more than was promised.
    #[test]
    fn no_window_costs_more_than_promised(
        budget in 1..50_u32, cap in 10..1_000_u64, longest in 1..10_u64,
        steps in proptest::collection::vec((0..2_000_u64, 0..10_u64), 1..80),
    ) {
        let setting = BucketSetting { budget: Loss::percent(budget), cap: Nanos(cap), assumed: Nanos(longest) };
        let mut bucket = Bucket::new(setting);
        let mut now = Nanos(1);
        let mut paid: Vec<(Nanos, u64)> = Vec::new();
        for (wait, delay) in steps {
            now = now.plus(Nanos(wait));
            if bucket.affordable_from(now) == now {
                let delay = delay.min(longest);
                bucket.pay(now, Nanos(delay));
                paid.push((now, delay));
            }
        }
        for (index, (from, _)) in paid.iter().enumerate() {
            let mut sum = 0;
            for (to, delay) in &paid[index..] {
                sum += delay;
                let promised = cap as f64 + f64::from(budget) / 100.0 * to.since(*from).0 as f64;
                prop_assert!(sum as f64 <= promised + 1e-6, "{sum} in {from}..{to}, promised {promised}");
            }
        }
    }
}
