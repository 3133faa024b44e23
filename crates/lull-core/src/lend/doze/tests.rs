use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// Looks whenever it has to, and finds what `found` says; returns each doze as (from, until).
fn dozes(end: Nanos, longest: Nanos, found: impl FnMut(Nanos) -> Found) -> Vec<(Nanos, Nanos)> {
    dozes_of(end, longest, |_| Nanos::ZERO, found)
}

/// With a job that ever `ran` for so long.
fn dozes_of(
    end: Nanos,
    longest: Nanos,
    ran: impl Fn(Nanos) -> Nanos,
    mut found: impl FnMut(Nanos) -> Found,
) -> Vec<(Nanos, Nanos)> {
    let (mut doze, mut now, mut dozes, mut forced) = (Doze::new(), ms(1), Vec::new(), ms(1));
    while now < end {
        let owed = now.since(forced) >= longest;
        if owed {
            forced = now;
        }
        doze.step(now, if owed { Found::Forced } else { found(now) }, ran(now), forced.plus(longest));
        match doze.until() {
            Some(until) => {
                dozes.push((now, until));
                now = until;
            }
            None => now = now.plus(ms(5)),
        }
    }
    dozes
}

#[test]
fn without_a_gap_most_of_the_time_is_not_watched_and_the_least_share_is_not_late() {
    let all = dozes(ms(10_000), ms(500), |_| Found::NoGap);
    let lengths: Vec<Nanos> = all.iter().map(|(from, until)| until.since(*from)).collect();
    assert_eq!(lengths[..4], [25, 50, 100, 200].map(ms));
    let slept: u64 = lengths.iter().map(|length| length.0).sum();
    assert!(slept > ms(8_500).0, "{lengths:?}");
    assert!(lengths.iter().all(|length| (WATCH..=ms(500)).contains(length)), "{lengths:?}");
    let last = lengths.iter().rev().take(10);
    assert!(
        last.copied().all(|length| length >= ms(450)),
        "one between two runs of the least share: {lengths:?}"
    );
}

#[test]
fn a_gap_makes_dozes_short_again_and_one_in_each_watch_leaves_none() {
    let all = dozes(ms(4_000), ms(500), |now| if now > ms(2_000) { Found::Gap } else { Found::NoGap });
    assert!(all.iter().all(|(from, _)| *from <= ms(2_000)), "{all:?}");
    let mut first = true;
    let all = dozes(ms(3_000), ms(500), |now| {
        let is_gap = now > ms(1_500) && std::mem::take(&mut first);
        if is_gap { Found::Gap } else { Found::NoGap }
    });
    let after = all.iter().find(|(from, _)| *from > ms(1_500)).unwrap();
    assert_eq!(after.1.since(after.0), ms(25), "{all:?}");
}

#[test]
fn dear_gaps_count_as_none_unless_they_are_most_of_the_time() {
    let part = |n: u64| move |now: Nanos| Nanos(now.0 / n);
    let of = |n| dozes_of(ms(4_000), ms(500), part(n), |_| Found::Dear);
    assert_eq!(of(3), dozes(ms(4_000), ms(500), |_| Found::NoGap));
    assert_eq!(of(1), []);
}

#[test]
fn whoever_looks_early_finds_the_same_doze() {
    let mut doze = Doze::new();
    doze.step(ms(1), Found::NoGap, Nanos::ZERO, ms(500));
    assert_eq!(doze.watched_at(), Some(ms(26)));
    doze.step(ms(26), Found::NoGap, Nanos::ZERO, ms(500));
    assert_eq!((doze.until(), doze.watched_at()), (Some(ms(51)), None));
    doze.step(ms(30), Found::NoGap, Nanos::ZERO, ms(500));
    assert_eq!(doze.until(), Some(ms(51)));
    doze.step(ms(31), Found::Gap, Nanos::ZERO, ms(500));
    assert_eq!(doze.until(), None);
    assert!(!doze.is_settled());
}

#[test]
fn what_is_nearly_owed_is_waited_for() {
    let mut doze = Doze::new();
    doze.step(ms(1), Found::NoGap, Nanos::ZERO, ms(50));
    doze.step(ms(26), Found::NoGap, Nanos::ZERO, ms(50));
    assert_eq!(doze.until(), None, "24 ms are left");
}

proptest! {
    /// Whatever is found, a doze follows a watch without a gap, and ends before the job is owed anything.
    #[test]
    fn a_doze_follows_a_watch(longest in 30_u64..2_000, gaps in proptest::collection::vec(1_u64..5_000, 0..40)) {
        let (mut latest_gap, mut ended) = (Nanos::ZERO, Nanos::ZERO);
        let mut seen = Vec::new();
        let all = dozes(ms(5_000), ms(longest), |now| {
            let is_gap = gaps.iter().any(|gap| now >= ms(*gap) && now.since(ms(*gap)) < ms(5));
            if is_gap {
                latest_gap = now;
            }
            seen.push((now, latest_gap));
            if is_gap { Found::Gap } else { Found::NoGap }
        });
        for (from, until) in all {
            prop_assert!(until.since(from) >= WATCH && until.since(from) <= ms(longest));
            prop_assert!(from.since(ended) >= WATCH, "{from} {ended}");
            let gap = seen.iter().rfind(|(now, _)| *now <= from).map_or(Nanos::ZERO, |(_, gap)| *gap);
            prop_assert!(gap == Nanos::ZERO || from.since(gap) >= WATCH, "{from} {gap}");
            ended = until;
        }
    }
}
