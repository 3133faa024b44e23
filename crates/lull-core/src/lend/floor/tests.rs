use proptest::prelude::*;

use super::*;

const LONGEST: Nanos = Nanos::from_millis(100);

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

#[test]
fn a_job_that_is_always_held_runs_for_its_share() {
    let mut floor = Floor::new(Share::percent(5));
    let (mut ran, mut held, mut longest) = (Nanos::ZERO, 0, 0);
    for at in 0..10_000 {
        if floor.step(ms(at), ran, true, LONGEST) {
            ran = ran.plus(ms(1));
            held = 0;
        } else {
            held += 1;
            longest = longest.max(held);
        }
    }
    assert!((ms(450)..ms(600)).contains(&ran), "{ran}");
    assert!(longest <= 101, "{longest} ms");
}

#[test]
fn a_forced_run_ends_when_nothing_is_owed_also_where_nobody_looks_in_between() {
    let mut floor = Floor::new(Share::percent(2));
    let (mut now, mut ran, mut forced) = (ms(1), Nanos::ZERO, Nanos::ZERO);
    assert_eq!(floor.ends(), None);
    // Looked at every 5 ms, and when a run is said to end.
    while now < ms(30_000) {
        let runs = floor.step(now, ran, true, LONGEST);
        assert_eq!(floor.ends().is_some(), runs);
        let next = floor.ends().unwrap_or(Nanos::MAX).min(now.plus(ms(5)));
        assert!(next > now);
        if runs {
            ran = ran.plus(next.since(now));
            forced = ran;
        }
        now = next;
    }
    assert!((ms(580)..ms(620)).contains(&forced), "{forced} of 600 ms");
}

#[test]
fn a_job_that_runs_enough_is_never_forced() {
    let mut floor = Floor::new(Share::percent(5));
    for at in 0..10_000 {
        assert!(!floor.step(ms(at), ms(at / 10), true, LONGEST));
    }
}

#[test]
fn nothing_is_owed_to_a_job_that_does_not_want_to_run_nor_without_a_floor() {
    let mut floor = Floor::new(Share::percent(50));
    let mut none = Floor::new(Share::ZERO);
    for at in 0..1_000 {
        assert!(!floor.step(ms(at), Nanos::ZERO, false, LONGEST));
        assert!(!none.step(ms(at), Nanos::ZERO, true, LONGEST));
    }
    assert_eq!(none.due(), None);
    assert!(!floor.step(ms(1_050), Nanos::ZERO, true, LONGEST), "it is owed from when it wants to");
    assert_eq!(floor.due(), Some(ms(1_099)));
}

proptest! {
    #[test]
    fn every_stretch_gets_its_share_less_a_slice(
        percent in 1..60_u32,
        longest in 10..200_u64,
        lends in prop::collection::vec((any::<bool>(), 1..150_u64), 1..60),
    ) {
        // The owner lends for some stretches and holds for others, and obeys.
        let (share, longest) = (Share::percent(percent), ms(longest));
        let mut floor = Floor::new(share);
        let mut ran = vec![Nanos::ZERO];
        for (lends, length) in lends {
            for _ in 0..length {
                let so_far = ran[ran.len() - 1];
                let runs = floor.step(ms(ran.len() as u64 - 1), so_far, true, longest) || lends;
                ran.push(if runs { so_far.plus(ms(1)) } else { so_far });
            }
        }
        let slack = share.of(longest).plus(ms(2));
        for from in (0..ran.len()).step_by(7) {
            for until in from..ran.len() {
                let got = ran[until].since(ran[from]);
                let due = share.of(ms((until - from) as u64));
                prop_assert!(got.plus(slack) >= due, "{got} of {due} from {from} to {until}");
            }
        }
    }
}
