//! The rule against brute force: every age at which one could move, against episodes of every length.

use proptest::prelude::*;

use super::*;

const SECOND: f64 = 1e9;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float to int casts saturate")]
fn secs(secs: f64) -> Nanos {
    Nanos((secs * SECOND) as u64)
}

fn situation(age: f64, share: f64, elsewhere: f64, pause: f64, unsaved: f64) -> (Here, Elsewhere, Guest) {
    (
        Here { age: secs(age), share },
        Elsewhere { share: elsewhere, pause: secs(pause) },
        Guest { unsaved: secs(unsaved), remaining: None },
    )
}

/// The age at which the rule moves, found by asking it again whenever it wants to be asked.
fn moves_at(share: f64, elsewhere: f64, pause: f64, unsaved: f64, tail: f64) -> Option<f64> {
    let mut age = 0.0;
    for _ in 0..3 {
        let (here, there, guest) = situation(age, share, elsewhere, pause, unsaved);
        match decide(here, there, guest, tail) {
            Decision::Move => return Some(age),
            Decision::Linger(None) => return None,
            Decision::Linger(Some(until)) => {
                assert!(until > here.age, "asked again in the past");
                age = until.0 as f64 / SECOND + 1e-9;
            }
        }
    }
    panic!("asked for ever");
}

/// What moving at `at` costs over an episode of `length`.
fn cost(at: f64, length: f64, gain: f64, moving: f64) -> f64 {
    if length <= at { gain * length } else { gain * at + moving }
}

/// What moving at `at` costs on average, if episodes last beyond t with probability (least / t)^tail: by adding up many lengths, each as
/// likely.
fn mean_cost(at: f64, least: f64, tail: f64, gain: f64, moving: f64) -> f64 {
    const LENGTHS: u32 = 4_000;
    let of = |index: u32| {
        let beyond = (f64::from(index) + 0.5) / f64::from(LENGTHS);
        cost(at, least * beyond.powf(-1.0 / tail), gain, moving)
    };
    (0..LENGTHS).map(of).sum::<f64>() / f64::from(LENGTHS)
}

proptest! {
    #[test]
    fn nobody_who_knows_the_episode_pays_less_than_half(
        share in 0.0..0.95, above in 0.04..1.0, pause in 0.1..600.0, unsaved in 0.0..3_600.0,
        length in 0.001..1e6,
    ) {
        let elsewhere = f64::min(share + above, 1.0);
        let (gain, moving) = (elsewhere - share, elsewhere * pause + unsaved);
        let at = moves_at(share, elsewhere, pause, unsaved, TAIL).unwrap();
        let paid = cost(at, length, gain, moving);
        let best = f64::min(gain * length, moving);
        prop_assert!(paid <= 2.0 * best * (1.0 + 1e-6), "{paid} for {best}");
    }

    #[test]
    fn no_other_age_is_better_against_the_worst_episode(
        share in 0.0..0.95, above in 0.04..1.0, pause in 0.1..600.0, factor in 0.05..4.0_f64,
    ) {
        prop_assume!((factor - 1.0).abs() > 0.02);
        let elsewhere = f64::min(share + above, 1.0);
        let (gain, moving) = (elsewhere - share, elsewhere * pause);
        let at = moves_at(share, elsewhere, pause, 0.0, TAIL).unwrap();
        // The owner leaves the moment that the guest has moved, or at any other time.
        let worst = |at: f64| {
            let lengths = (1..400).map(|n| f64::from(n) * at / 100.0).chain([at * (1.0 + 1e-9)]);
            lengths.map(|length| cost(at, length, gain, moving) / f64::min(gain * length, moving))
                .fold(0.0, f64::max)
        };
        prop_assert!(worst(at) <= worst(at * factor) + 1e-3);
    }

    #[test]
    fn no_other_age_is_better_on_average(
        share in 0.0..0.9, above in 0.1..1.0, pause in 5.0..300.0, tail in 0.6..1.6, factor in 0.3..3.0_f64,
    ) {
        let elsewhere = f64::min(share + above, 1.0);
        let (gain, moving) = (elsewhere - share, elsewhere * pause);
        let at = moves_at(share, elsewhere, pause, 0.0, tail).unwrap();
        // Ages below the shortest episode tell nothing about it: the rule is asked from there on.
        let least = at / 20.0;
        let here = mean_cost(at, least, tail, gain, moving);
        let there = mean_cost(at * factor, least, tail, gain, moving);
        prop_assert!(here <= there * 1.005, "{here} against {there}");
    }

    #[test]
    fn a_guest_that_is_nearly_done_is_done_where_it_is(
        share in 0.05..0.9, above in 0.05..1.0, pause in 0.1..600.0, unsaved in 0.0..100.0, remaining in 0.01..5_000.0,
        age in 0.0..1e6,
    ) {
        let elsewhere = f64::min(share + above, 1.0);
        let (here, there, mut guest) = situation(age, share, elsewhere, pause, unsaved);
        guest.remaining = Some(secs(remaining));
        // Beside an owner who never leaves.
        let done_here = remaining / share;
        let done_there = pause + (remaining + unsaved) / elsewhere;
        prop_assume!((done_here - done_there).abs() > 1e-3);
        let decision = decide(here, there, guest, TAIL);
        if done_here < done_there {
            prop_assert_eq!(decision, Decision::Linger(None));
        } else {
            prop_assert_ne!(decision, Decision::Linger(None));
        }
    }
}

#[test]
fn edges() {
    let ask = |age, share, elsewhere, pause, unsaved| {
        let (here, there, guest) = situation(age, share, elsewhere, pause, unsaved);
        decide(here, there, guest, TAIL)
    };
    assert_eq!(ask(1e9, 0.9, 0.9, 10.0, 0.0), Decision::Linger(None), "nothing is gained");
    assert_eq!(ask(1e9, 0.9, 0.5, 10.0, 0.0), Decision::Linger(None), "it is worse there");
    assert_eq!(ask(0.0, 0.0, 1.0, 0.0, 0.0), Decision::Move, "moving is free");
    assert_eq!(ask(0.0, f64::NAN, 1.0, 1.0, 0.0), Decision::Linger(None));
    assert_eq!(ask(19.0, 0.0, 1.0, 20.0, 0.0), Decision::Linger(Some(secs(20.0))), "a starved guest");
    assert_eq!(ask(20.0, 0.0, 1.0, 20.0, 0.0), Decision::Move);
    let (here, there, guest) = situation(5.0, 0.0, 1.0, 20.0, 0.0);
    let forever = decide(here, there, Guest { remaining: Some(Nanos::ZERO), ..guest }, TAIL);
    assert_eq!(
        forever,
        Decision::Linger(Some(secs(20.0))),
        "0 / 0 is not known, so nothing is concluded from it"
    );
}

#[test]
fn policies_differ_in_who_runs_and_who_leaves() {
    let (here, elsewhere, guest) = situation(30.0, 0.5, 1.0, 10.0, 0.0);
    let young = Owner { here, elsewhere, guest, patience: secs(60.0) };
    let old = Owner { here: Here { age: secs(90.0), ..here }, ..young };
    let act = |policy: GuestPolicy, owner: &Owner| {
        let act = policy.act(owner);
        (act.runs, act.leave)
    };
    use GuestPolicy as P;
    assert_eq!(act(P::LingerForever, &old), (true, Leave::Stay(None)));
    assert_eq!(act(P::SuspendInPlace, &old), (false, Leave::Stay(None)));
    assert_eq!(act(P::ImmediateEviction, &young), (false, Leave::Now));
    assert_eq!(act(P::PauseAndMigrate, &young), (false, Leave::Stay(Some(secs(60.0)))));
    assert_eq!(act(P::PauseAndMigrate, &old), (false, Leave::WhenThereIsAPlace));
    assert_eq!(
        act(P::LingerLonger, &young),
        (true, Leave::WhenThereIsAPlace),
        "30 s have cost 15 s, moving 10"
    );
    let dear = Owner { guest: Guest { unsaved: secs(100.0), remaining: None }, ..young };
    assert_eq!(
        act(P::LingerLonger, &dear),
        (true, Leave::Stay(Some(secs(220.0)))),
        "a guest that cannot save itself"
    );
    for policy in P::ALL {
        assert_eq!(policy.name().parse(), Ok(policy));
    }
    assert!("linger".parse::<P>().unwrap_err().to_string().contains("'linger'"));
}
