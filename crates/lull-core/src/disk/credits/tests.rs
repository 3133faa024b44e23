use super::*;
use proptest::prelude::*;

const MS: f64 = 1e6;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn an_empty_purse_waits_until_the_next_request_is_earned() {
    // Cap 90 ms, rate 4.85%.
    let mut credits = Credits::new(Loss::percent(5));
    assert_eq!(credits.wait(ms(20)), Nanos::ZERO);
    credits.book(ms(100), 90.0 * MS);
    let wait = credits.wait(ms(20));
    assert!(wait.0.abs_diff(ms(412).0) < ms(1).0, "20 ms at 4.85%: {wait}");
    credits.book(ms(413), 0.0);
    assert_eq!(credits.wait(ms(20)), Nanos::ZERO);
    credits.book(Nanos::ZERO, 3_000.0 * MS);
    assert_eq!(credits.wait(ms(20)), LONGEST);
}

#[test]
fn luck_makes_up_for_later_loss_but_not_for_much() {
    let mut credits = Credits::new(Loss::percent(5));
    credits.book(Nanos::ZERO, -1_000.0 * MS);
    credits.book(Nanos::ZERO, 22.0 * MS);
    assert_eq!(credits.wait(ms(90)), Nanos::ZERO, "a quarter of the cap was gained");
    credits.book(Nanos::ZERO, 10.0 * MS);
    assert!(credits.wait(ms(90)) > Nanos::ZERO);
}

#[test]
fn a_promise_of_nothing_always_waits() {
    assert_eq!(Credits::new(Loss::ZERO).wait(ms(1)), LONGEST);
}

#[test]
fn a_smaller_promise_takes_what_is_above_its_cap_and_luck_with_it() {
    let mut credits = Credits::new(Loss::percent(5));
    credits.book(Nanos::ZERO, -1_000.0 * MS);
    credits.set_promise(Loss::percent(1));
    credits.set_promise(Loss::percent(5));
    // 18 ms are left of 90, and 4.5 of the luck.
    credits.book(Nanos::ZERO, 4.5 * MS);
    assert_eq!(credits.wait(ms(18)), Nanos::ZERO);
    assert!(credits.wait(ms(19)) > Nanos::ZERO);
}

proptest! {
    /// A foreground that returns just when background may start again, whatever that costs up to `cost`.
    #[test]
    fn who_waits_as_told_keeps_the_promise(
        percent in 1..20_u32,
        cost in 1..40_u64,
        losses in proptest::collection::vec(0.0..1.0_f64, 200..600),
    ) {
        let mut credits = Credits::new(Loss::percent(percent));
        let (mut time, mut lost) = (0.0, 0.0);
        for part in losses {
            let wait = credits.wait(ms(cost));
            let loss = part * ms(cost).0 as f64;
            credits.book(wait, loss);
            time += wait.0 as f64;
            lost += loss;
        }
        let promise = f64::from(percent) / 100.0;
        let cap = promise * 1.8e9;
        // The last one may have been let go on less than it cost, where that is more than the cap.
        prop_assert!(lost <= cap + ms(cost).0 as f64 + 0.97 * promise * time + 1e3, "{lost} in {time}");
    }
}
