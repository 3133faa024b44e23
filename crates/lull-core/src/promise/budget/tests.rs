use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

#[test]
fn credits_are_earned_at_the_rate_up_to_the_cap_and_spent() {
    let mut budget = Budget::new(BudgetSetting::default());
    assert_eq!((budget.setting.rate(), budget.setting.cap()), (Loss::percent(4), ms(600)));
    assert_eq!(budget.available(), Nanos::ZERO, "nothing is free");
    budget.pass(secs(10));
    assert_eq!(budget.available(), ms(400));
    budget.spend(ms(100));
    budget.spend(ms(50));
    assert_eq!((budget.available(), budget.lost()), (ms(250), ms(150)));
    budget.pass(secs(1000));
    assert_eq!(budget.available(), ms(600), "no more than the cap");
}

#[test]
fn loss_beyond_the_credits_is_a_debt_that_is_earned_back_first() {
    let mut budget = Budget::new(BudgetSetting::default());
    budget.spend(ms(40));
    assert_eq!((budget.available(), budget.debt()), (ms(0), ms(40)));
    budget.pass(secs(1));
    assert_eq!((budget.available(), budget.debt()), (ms(0), ms(0)));
    budget.pass(secs(1));
    assert_eq!(budget.available(), ms(40));
}

#[test]
fn a_smaller_promise_spills_and_a_larger_one_has_to_be_earned() {
    let mut budget = Budget::full(BudgetSetting::default());
    budget.set_promise(Loss::percent(2));
    assert_eq!(budget.available(), ms(240));
    budget.set_promise(Loss::percent(5));
    assert_eq!(budget.available(), ms(240));
    budget.pass(secs(1));
    assert_eq!((budget.available(), budget.worked()), (ms(280), secs(1)));
}

#[test]
fn the_report_knows_the_worst_window_and_the_whole() {
    let mut budget = Budget::new(BudgetSetting { window: secs(10), ..BudgetSetting::default() });
    for second in 0..100 {
        budget.pass(secs(1));
        budget.spend(if second == 50 { ms(700) } else { ms(10) });
    }
    let kept = budget.kept();
    assert!((kept.overall - 0.0169).abs() < 1e-9, "{kept:?}");
    assert!((kept.worst - 0.079).abs() < 0.0011 && !kept.promise, "{kept:?}");
}

#[test]
fn a_run_shorter_than_a_window_is_judged_as_a_whole() {
    let mut budget = Budget::new(BudgetSetting::default());
    assert_eq!(budget.kept(), Kept { worst: 0.0, overall: 0.0, promise: true });
    budget.pass(secs(10));
    budget.spend(ms(600));
    assert_eq!(budget.kept(), Kept { worst: 0.06, overall: 0.06, promise: false });
}

#[test]
fn a_promise_of_nothing_has_nothing_to_spend() {
    let mut budget = Budget::new(BudgetSetting { promise: Loss::ZERO, ..BudgetSetting::default() });
    budget.pass(Nanos::MAX);
    assert_eq!(budget.available(), Nanos::ZERO);
    budget.spend(Nanos(1));
    budget.pass(Nanos::MAX);
    assert_eq!(budget.debt(), Nanos(1), "nor to pay a debt from");
}

#[test]
fn a_book_that_does_not_balance_is_noticed() {
    let mut budget = Budget::new(BudgetSetting::default());
    budget.pass(secs(1));
    for (spoil, word) in [
        (Box::new(|b: &mut Budget| b.credit += 1) as Box<dyn Fn(&mut Budget)>, "credit"),
        (Box::new(|b| b.spent += 1), "credit"),
        (Box::new(|b| (b.credit, b.earned) = (i128::MAX / 2, i128::MAX / 2)), "cap"),
        (Box::new(|b| b.windows.spend(secs(9))), "window"),
        (Box::new(|b| (b.spilled, b.earned) = (-1, b.earned - 1)), "spilled"),
    ] {
        let mut spoiled = budget.clone();
        spoil(&mut spoiled);
        let error = spoiled.check().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// What happens to a budget.
#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(Nanos),
    /// This share of what is available.
    Afford(Share),
    /// Whatever is available.
    Losing(Nanos),
    /// Another promise, in percent.
    Promise(u32),
}

fn steps(honest: bool) -> impl Strategy<Value = Vec<Step>> {
    let span = prop_oneof![0..50_u64, 900..1_100_u64, 0..20_000_u64].prop_map(ms);
    let afford =
        prop_oneof![Just(1_000_000), 0..=1_000_000_u32].prop_map(|ppm| Step::Afford(Share::ppm(ppm)));
    let losing = (0..500_u64).prop_map(|loss| Step::Losing(ms(loss)));
    let pass = span.prop_map(Step::Pass);
    if honest {
        prop::collection::vec(prop_oneof![2 => pass, 2 => afford], 1..300).boxed()
    } else {
        prop::collection::vec(prop_oneof![2 => pass, 1 => afford, 1 => losing], 1..300).boxed()
    }
}

/// The same with promises of up to 20% that change.
fn changing_steps() -> impl Strategy<Value = Vec<Step>> {
    let change = (0..=20_u32).prop_map(Step::Promise);
    let rest = prop_oneof![steps(false), steps(true)];
    (rest, prop::collection::vec((any::<prop::sample::Index>(), change), 0..40)).prop_map(
        |(mut steps, changes)| {
            for (place, change) in changes {
                steps.insert(place.index(steps.len() + 1), change);
            }
            steps
        },
    )
}

/// Carries the steps out; returns after each the time, the total loss and the debt.
fn carry_out(budget: &mut Budget, steps: &[Step]) -> Vec<(u64, u64, u64)> {
    let (mut time, mut lost) = (0, 0);
    let mut points = vec![(0, 0, 0)];
    for step in steps {
        match *step {
            Step::Pass(span) => {
                budget.pass(span);
                time += span.0;
            }
            Step::Afford(share) => {
                let loss = share.of(budget.available());
                budget.spend(loss);
                lost += loss.0;
            }
            Step::Losing(loss) => {
                budget.spend(loss);
                lost += loss.0;
            }
            Step::Promise(percent) => budget.set_promise(Loss::percent(percent)),
        }
        points.push((time, lost, budget.debt().0));
    }
    points
}

proptest! {
    #[test]
    fn who_spends_only_what_is_available_keeps_the_promise_in_every_window(
        steps in steps(true), promise in 1..100_u32, burst in 0..=100_u32,
    ) {
        let setting =
            BudgetSetting { promise: Loss::percent(promise), window: secs(5), burst: Share::percent(burst) };
        let mut budget = Budget::new(setting);
        let points = carry_out(&mut budget, &steps);
        for (i, (from, before, _)) in points.iter().enumerate() {
            for (until, after, _) in &points[i..] {
                let (span, lost) = (Nanos(until - from), Nanos(after - before));
                prop_assert!(lost <= setting.cap().plus(setting.promise.of(span)).plus(Nanos(1)));
                if span >= setting.window {
                    prop_assert!(lost <= setting.promise.of(span), "{lost} of {span}");
                }
            }
        }
        prop_assert_eq!(budget.debt(), Nanos::ZERO);
        prop_assert!(budget.kept().overall <= setting.promise.fraction());
        prop_assert_eq!(budget.check(), Ok(()));
    }

    #[test]
    fn whatever_happens_a_window_loses_no_more_than_the_promise_and_the_debt(steps in steps(false)) {
        let setting = BudgetSetting { window: secs(5), ..BudgetSetting::default() };
        let mut budget = Budget::new(setting);
        let points = carry_out(&mut budget, &steps);
        for (i, (from, before, _)) in points.iter().enumerate() {
            let mut debt = 0;
            for (until, after, owed) in &points[i..] {
                debt = debt.max(*owed);
                let (span, lost) = (Nanos(until - from), Nanos(after - before));
                let bound = setting.cap().plus(setting.rate().of(span)).plus(Nanos(debt + 2));
                prop_assert!(lost <= bound, "{lost} of {span}, at most {bound}");
            }
        }
        prop_assert_eq!(points.last().map(|point| point.1), Some(budget.lost().0));
    }

    #[test]
    fn a_promise_may_change_at_any_time_and_the_book_balances(steps in changing_steps(), full in any::<bool>()) {
        let setting = BudgetSetting { window: secs(5), ..BudgetSetting::default() };
        let mut budget = if full { Budget::full(setting) } else { Budget::new(setting) };
        for step in steps {
            let saved = budget.available();
            carry_out(&mut budget, &[step]);
            prop_assert_eq!(budget.check(), Ok(()));
            prop_assert!(budget.available() <= budget.setting().cap(), "what is above the cap spills");
            if matches!(step, Step::Promise(_)) {
                prop_assert!(budget.available() <= saved, "nothing is given");
            }
        }
    }

    #[test]
    fn the_worst_window_is_that_of_a_slow_search(
        losses in prop::collection::vec(0..10_000_000_u64, 1..400), slots_at_once in 1..5_u64,
    ) {
        // One loss per stretch of whole slots.
        let slot = ms(1);
        let mut windows = Windows::new(slot.times(windows::SLOTS as u64));
        let mut history = Vec::new();
        for loss in &losses {
            windows.spend(Nanos(*loss));
            windows.pass(slot.times(slots_at_once));
            history.push(*loss);
            history.extend((1..slots_at_once).map(|_| 0));
        }
        // The open slot, still empty, belongs to the latest window.
        history.push(0);
        let worst = history.windows(windows::SLOTS).map(|w| w.iter().sum::<u64>()).max();
        let expected = worst.filter(|_| history.len() > windows::SLOTS).map(|w| w as f64 / 64e6);
        prop_assert_eq!(windows.worst(), expected);
    }
}
