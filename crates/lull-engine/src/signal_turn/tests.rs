//! When a held job may run.

use super::*;

const MS: Nanos = Nanos::from_millis(1);

fn has(signals: u64) -> Look {
    Look { untaken: HashMap::from([(7, signals)]), cost: MS }
}

/// The job is held from 0 on, and looked at every 10 ms of `millis`; when it ran, in turns.
fn ran(millis: u64, untaken: impl Fn(u64) -> u64) -> Vec<u64> {
    let mut spare = SignalTurn::default();
    let at = |milli: u64| Nanos::from_secs(1).plus(MS.times(milli));
    (0..millis / 10)
        .map(|turn| turn * 10)
        .filter(|milli| {
            spare.turn(at(*milli), true, || has(untaken(*milli)));
            spare.is_on(at(*milli))
        })
        .collect()
}

#[test]
fn a_job_runs_for_a_moment_once_a_signal_has_come() {
    let ran = ran(1_000, |milli| u64::from((400..600).contains(&milli)));
    assert_eq!((ran.first(), ran.last(), ran.len()), (Some(&500), Some(&690), 20));
}

#[test]
fn a_signal_that_is_never_taken_counts_once_and_another_one_again() {
    assert_eq!(ran(3_000, |_| 1).len(), 20);
    let ran = ran(3_000, |milli| if milli < 2_000 { 1 } else { 3 });
    assert_eq!((ran.len(), ran[20]), (40, 2_000));
}

#[test]
fn a_short_hold_is_not_looked_into() {
    let mut spare = SignalTurn::default();
    for milli in 0..1_000 {
        let is_held = milli % 100 < 90;
        spare.turn(Nanos::from_secs(1).plus(MS.times(milli)), is_held, || panic!("looked"));
    }
}
