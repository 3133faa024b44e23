use super::*;
use proptest::prelude::*;

/// A rate of 10% and a cap of 100 ns.
const SETTING: BucketSetting = BucketSetting {
    budget: Loss::percent(20),
    window: Nanos(1_000),
    burst: Share::percent(50),
    assumed: Nanos(50),
};

#[test]
fn an_empty_bucket_says_when_it_will_hold_enough() {
    let mut bucket = Bucket::new(SETTING);
    assert_eq!(bucket.affordable_from(Nanos(1)), Nanos(1));
    bucket.pay(Nanos(1_000), Nanos(100));
    assert_eq!(bucket.affordable_from(Nanos(1_000)), Nanos(1_500));
    assert_eq!(bucket.affordable_from(Nanos(1_499)), Nanos(1_500));
    assert_eq!(bucket.affordable_from(Nanos(1_500)), Nanos(1_500));
    bucket.served(Nanos(80));
    assert!(bucket.affordable_from(Nanos(1_500)) > Nanos(1_500), "a longer request needs more");
    let mut bucket = Bucket::new(BucketSetting { budget: Loss::ZERO, ..SETTING });
    bucket.pay(Nanos(5), Nanos(60));
    assert_eq!(bucket.affordable_from(Nanos(6)), Nanos::MAX);
}

#[test]
fn a_request_longer_than_all_that_can_be_saved_starts_when_the_bucket_is_full() {
    let mut bucket = Bucket::new(BucketSetting { assumed: Nanos(500), ..SETTING });
    assert_eq!(bucket.affordable_from(Nanos(1)), Nanos(1));
    bucket.pay(Nanos(1), Nanos(500));
    assert_eq!(bucket.affordable_from(Nanos(1)), Nanos(5_001), "400 overdrawn, 100 to be saved, at 10%");
}

proptest! {
    /// Whatever is paid for only when it can be afforded, no window costs more than was promised.
    #[test]
    fn no_window_costs_more_than_promised(
        percent in 1..50_u32, burst in 5..80_u32, window in 100..10_000_u64, longest in 1..10_u64,
        steps in proptest::collection::vec((0..2_000_u64, 0..10_u64), 1..80),
    ) {
        let setting = BucketSetting {
            budget: Loss::percent(percent),
            window: Nanos(window),
            burst: Share::percent(burst),
            assumed: Nanos(longest),
        };
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
        let (cap, rate) = (setting.credits().cap().0.max(longest) as f64, setting.credits().rate().fraction());
        for (index, (from, _)) in paid.iter().enumerate() {
            let mut sum = 0;
            for (to, delay) in &paid[index..] {
                sum += delay;
                let promised = cap + rate * to.since(*from).0 as f64;
                prop_assert!(sum as f64 <= promised + 1e-6, "{sum} in {from}..{to}, promised {promised}");
            }
        }
    }
}
