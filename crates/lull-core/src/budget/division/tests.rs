use proptest::prelude::*;

use super::*;
use crate::share::Share;

const MS: Nanos = Nanos::from_millis(1);
const STEP: Nanos = Nanos::from_millis(25);

/// Resources that lose what they like of what they have, and the parts they were told.
struct Run {
    division: Division,
    now: Nanos,
    uses: Vec<Use>,
    told: Vec<Loss>,
    changes: u32,
    forfeited: Vec<usize>,
}

impl Run {
    fn new(resources: usize) -> Self {
        Self {
            division: Division::new(Loss::percent(5)),
            now: Nanos::from_secs(1),
            uses: vec![Use::default(); resources],
            told: vec![Loss::percent(5); resources],
            changes: 0,
            forfeited: Vec::new(),
        }
    }

    /// Time passes in which each resource loses at `rates` of the foreground's time, at most its part; `None` is idle.
    fn run(&mut self, millis: u64, rates: &[Option<f64>]) {
        for _ in 0..millis / 25 {
            for (usage, rate) in self.uses.iter_mut().zip(rates) {
                usage.contended = rate.is_some();
            }
            for change in self.division.look(self.now, &self.uses) {
                self.told[change.resource] = change.promise;
                self.changes += 1;
                if change.forfeits {
                    self.forfeited.push(change.resource);
                }
            }
            self.now = self.now.plus(STEP);
            for ((usage, rate), told) in self.uses.iter_mut().zip(rates).zip(&self.told) {
                let Some(rate) = rate else { continue };
                usage.worked = usage.worked.plus(STEP);
                let most = 0.9 * told.fraction();
                usage.lost = usage.lost.plus(loss(rate.min(most)).of(STEP));
            }
        }
    }

    fn percents(&self) -> Vec<f64> {
        self.told.iter().map(|told| told.fraction() * 100.0).collect()
    }
}

const ALL: Option<f64> = Some(1.0);
const NONE: Option<f64> = Some(0.0);

#[test]
fn who_is_alone_has_the_whole_from_the_beginning_and_is_told_nothing() {
    for rate in [NONE, ALL] {
        let mut run = Run::new(3);
        run.run(60_000, &[None, rate, None]);
        assert_eq!((run.changes, run.percents()), (0, vec![5.0; 3]));
    }
}

#[test]
fn two_that_spend_all_they_have_come_to_halves_and_stay_there() {
    let mut run = Run::new(2);
    run.run(20_000, &[ALL, None]);
    run.run(60_000, &[ALL, ALL]);
    assert_eq!(run.percents(), [2.5, 2.5]);
    assert_eq!((run.changes, run.forfeited.as_slice()), (2, &[1][..]), "who joins brings nothing");
}

#[test]
fn who_loses_nothing_leaves_the_rest_and_comes_back_when_it_needs_more() {
    let mut run = Run::new(2);
    run.run(30_000, &[ALL, NONE]);
    let [all, none] = run.percents()[..] else { panic!() };
    assert!(none > 0.6 && none < 1.0 && all > 4.0, "{all} {none}");
    assert!(run.changes <= 8, "{} changes", run.changes);
    let before = run.changes;
    run.run(20_000, &[ALL, ALL]);
    let parts = run.percents();
    assert!(parts.iter().all(|part| (part - 2.5).abs() < 0.4), "{parts:?}");
    let changes = run.changes - before;
    run.run(60_000, &[ALL, ALL]);
    assert!(changes <= 16 && run.changes - before == changes, "{changes} changes");
}

#[test]
fn a_steady_need_between_is_met_and_noise_moves_nothing() {
    let mut run = Run::new(2);
    run.run(30_000, &[ALL, Some(0.01)]);
    let changes = run.changes;
    for second in 0..60 {
        run.run(1_000, &[ALL, Some(if second % 2 == 0 { 0.008 } else { 0.012 })]);
    }
    let [all, some] = run.percents()[..] else { panic!() };
    assert!(some > 1.5 && all > 2.0, "{all} {some}");
    assert_eq!(run.changes, changes);
}

#[test]
fn who_is_gone_for_a_while_gives_way_and_a_pause_is_not_yet_gone() {
    let mut run = Run::new(2);
    run.run(20_000, &[ALL, ALL]);
    run.run(3_000, &[ALL, None]);
    assert!(run.told[1] > Loss::percent(1), "{:?}", run.percents());
    run.run(5_000, &[ALL, None]);
    assert_eq!(run.percents(), [5.0, 5.0], "alone, and on standby");
    run.run(1_000, &[ALL, ALL]);
    assert_eq!((run.percents(), run.forfeited.as_slice()), (vec![2.5, 2.5], &[1][..]));
}

#[test]
fn who_lost_nothing_before_takes_little_when_it_comes_again() {
    let mut run = Run::new(2);
    run.run(20_000, &[ALL, None]);
    run.run(30_000, &[ALL, NONE]);
    for _ in 0..5 {
        run.run(10_000, &[ALL, None]);
        assert_eq!(run.told[0], Loss::percent(5));
        run.run(1_000, &[ALL, NONE]);
        assert!(run.told[0] > Loss::percent(4), "{:?}", run.percents());
    }
}

#[test]
fn when_nobody_contends_all_stays_as_it_was() {
    let mut run = Run::new(2);
    run.run(20_000, &[ALL, ALL]);
    let changes = run.changes;
    run.run(60_000, &[None, None]);
    assert_eq!((run.changes, run.percents()), (changes, vec![2.5, 2.5]));
}

#[test]
fn the_whole_adds_up_what_was_lost_in_the_time_of_the_longest() {
    let mut division = Division::new(Loss::percent(5));
    let usage = |worked, lost| Use { contended: true, worked: MS.times(worked), lost: MS.times(lost) };
    division.look(MS, &[usage(0, 0), usage(0, 0)]);
    division.look(MS.times(1_001), &[usage(1_000, 30), usage(500, 30)]);
    let kept = division.kept();
    assert!((kept.overall - 0.06).abs() < 1e-9 && !kept.promise, "{kept:?}");
    assert!((division.lost_on(1) - 0.03).abs() < 1e-9 && division.lost_on(7).abs() < 1e-9);
}

#[test]
fn what_is_booked_in_lumps_is_no_more_time_than_there_was() {
    let mut division = Division::new(Loss::percent(5));
    let mut uses = [Use { contended: true, ..Use::default() }; 3];
    let mut now = Nanos::from_secs(1);
    // Each is at work all the time and loses 2%; two book every 25 ms, one every 5 ms.
    for turn in 0..60_000_usize / 5 {
        now = now.plus(MS.times(5));
        for (place, usage) in uses.iter_mut().enumerate() {
            let (turns, lump) = [(1, MS.times(5)), (5, MS.times(25)), (5, MS.times(25))][place];
            if (turn + place * 2) % turns == 0 {
                usage.worked = usage.worked.plus(lump);
                usage.lost = usage.lost.plus(Loss::percent(2).of(lump));
            }
        }
        division.look(now, &uses);
    }
    let kept = division.kept();
    assert!((kept.overall - 0.06).abs() < 0.002 && !kept.promise, "{kept:?}");
}

#[test]
fn what_is_used_seldom_and_spends_all_it_has_comes_to_half_as_well() {
    let mut run = Run::new(2);
    // A fifth of the time, in turns of half a second.
    for _ in 0..40 {
        run.run(500, &[ALL, ALL]);
        run.run(2_000, &[ALL, None]);
    }
    let parts = run.percents();
    assert!(parts.iter().all(|part| (part - 2.5).abs() < 0.5), "{parts:?}");
}

#[test]
fn a_promise_of_nothing_divides_into_nothing() {
    let mut division = Division::new(Loss::ZERO);
    let contended = Use { contended: true, ..Use::default() };
    for second in 1..20 {
        let changes = division.look(Nanos::from_secs(second), &[contended; 3]);
        assert!(changes.iter().all(|change| change.promise == Loss::ZERO), "{changes:?}");
    }
}

/// One stretch of time: for each resource whether the foreground is at work there, whether the job is, and how much of
/// what is available is lost.
type Stretch = (u64, Vec<(bool, bool, u32)>);

fn stretches(resources: usize) -> impl Strategy<Value = Vec<Stretch>> {
    let greed = prop_oneof![Just(1_000_000), Just(0), 0..=1_000_000_u32];
    let one = prop::collection::vec((any::<bool>(), any::<bool>(), greed), resources);
    prop::collection::vec((prop_oneof![25..100_u64, 500..9_000_u64], one), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn who_spends_only_what_is_available_keeps_the_one_promise_in_every_window(
        stretches in stretches(3), promise in 1..40_u32,
    ) {
        let promise = Loss::percent(promise);
        let setting = BudgetSetting { promise, window: Nanos::from_secs(5), burst: Share::percent(20) };
        let mut budgets = vec![Budget::full(setting); 3];
        let mut members = [false; 3];
        let mut division = Division::new(promise);
        let mut now = Nanos::from_secs(1);
        let (mut time, mut lost) = (0, 0);
        let mut points = vec![(0, 0)];
        for (millis, does) in stretches {
            for _ in 0..millis.div_ceil(100) {
                let uses: Vec<Use> = budgets.iter().zip(&does).map(|(budget, does)| {
                    Use { contended: does.0 && does.1, worked: budget.worked(), lost: budget.lost() }
                }).collect();
                for change in division.look(now, &uses) {
                    let budget = &mut budgets[change.resource];
                    if change.forfeits {
                        budget.forfeit();
                    }
                    budget.set_promise(change.promise);
                }
                for (member, part) in members.iter_mut().zip(&division.parts) {
                    *member = part.share.is_some();
                }
                let together: u32 = budgets.iter().zip(members).filter(|(_, member)| *member)
                    .map(|(budget, _)| budget.setting().promise.as_ppm()).sum();
                prop_assert!(together <= promise.as_ppm(), "{together}");
                now = now.plus(STEP.times(4));
                let mut worked = false;
                for (budget, (foreground, job, greed)) in budgets.iter_mut().zip(&does) {
                    if *foreground {
                        worked = true;
                        budget.pass(STEP.times(4));
                    }
                    if *foreground && *job {
                        let loss = Share::ppm(*greed).of(budget.available());
                        budget.spend(loss);
                        lost += loss.0;
                    }
                    prop_assert_eq!(budget.check(), Ok(()));
                }
                time += if worked { STEP.times(4).0 } else { 0 };
                points.push((time, lost));
            }
        }
        for (place, (from, before)) in points.iter().enumerate() {
            for (until, after) in &points[place..] {
                let (span, lost) = (Nanos(until - from), Nanos(after - before));
                prop_assert!(lost <= setting.cap().plus(setting.rate().of(span)).plus(Nanos(9)), "{lost} in {span}");
                if span >= setting.window {
                    prop_assert!(lost <= promise.of(span).plus(Nanos(9)), "{lost} in {span}");
                }
            }
        }
    }

    #[test]
    fn parts_are_never_more_than_the_whole_together_nor_less_than_a_quarter_of_the_fair_one(
        losing in prop::collection::vec(0.0..0.2_f64, 1..12), promise in 1..100_u32,
    ) {
        let mut division = Division::new(Loss::percent(promise));
        division.parts = losing.iter().map(|losing| Part { losing: *losing, ..Part::default() }).collect();
        let members: Vec<usize> = (0..losing.len()).collect();
        let shares = division.divide(Nanos::from_secs(100), &members);
        let sum: u32 = shares.iter().map(|share| share.as_ppm()).sum();
        let whole = division.promise().as_ppm();
        prop_assert!(sum <= whole && whole - sum <= 12, "{sum} of {whole}");
        let least = whole / u32::try_from(losing.len()).unwrap() / LEFT;
        prop_assert!(shares.iter().all(|share| share.as_ppm() + 1 >= least), "{shares:?}");
    }
}
