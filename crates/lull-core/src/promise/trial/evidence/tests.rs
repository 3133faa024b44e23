use super::*;
use crate::base::time::Nanos;

fn epoch(count: u64, sum: u64, millis: u64) -> Epoch {
    Epoch { count, sum, work: 0, span: Nanos::from_millis(millis) }
}

fn mean_evidence() -> Evidence {
    Evidence::new(Measure::Mean, 0.05)
}

/// A block of requests that take `lent` and `withheld` each.
fn block(evidence: &mut Evidence, lent: u64, withheld: u64) {
    evidence.add(&[epoch(40, 40 * lent, 100)], &[epoch(10, 10 * withheld, 25)]);
}

/// Requests of 100, every 50th of 100,000; lent epochs have ten times as many as withheld ones. Cut in pieces of `piece` requests.
fn stalls_by_themselves(piece: u64) -> Slowdown {
    let mut evidence = mean_evidence();
    let mut at = 0;
    let mut next = |count: u64| {
        let stalls = (at + count) / 50 - at / 50;
        at += count;
        epoch(count, count * 100 + stalls * 100_000, count)
    };
    for _ in 0..200 {
        let withheld = next(11);
        let lent: Vec<Epoch> = (0..110 / piece).map(|_| next(piece)).collect();
        evidence.add(&lent, &[withheld]);
    }
    evidence.slowdown().unwrap()
}

#[test]
fn stalls_that_come_by_themselves_are_cut_alike_in_epochs_of_unequal_length() {
    let (pieces, whole) = (stalls_by_themselves(11), stalls_by_themselves(110));
    assert!(pieces.low < 1.0 && pieces.high > 1.0 && pieces.ratio < 1.1, "{pieces:?}");
    assert!(
        whole.ratio > 2.0,
        "cut as a whole the stalls of lent epochs count, and look like harm: {whole:?}"
    );
}

#[test]
fn unequal_epochs_and_drifting_levels_do_not_bias_the_ratio() {
    // Later blocks are slower and have longer lent epochs: sums of each arm would give 1.6 or so.
    let mut evidence = mean_evidence();
    for i in 1..=40_u64 {
        let (lent, level) = (10 * i, 100 * i);
        evidence.add(&[epoch(lent, lent * level * 6 / 5, 10 * i)], &[epoch(10, 10 * level, 10)]);
    }
    let slowdown = evidence.slowdown().unwrap();
    assert!((slowdown.ratio - 1.2).abs() < 1e-9, "{slowdown:?}");
    assert_eq!(evidence.verdict(), Verdict::Harmful);
}

#[test]
fn each_measure_has_its_direction() {
    for (measure, ratio) in [(Measure::Mean, 2.0), (Measure::Level, 0.5), (Measure::Rate, 1.25)] {
        let mut evidence = Evidence::new(measure, 0.05);
        for _ in 0..20 {
            evidence.add(&[epoch(800, 1600, 100)], &[epoch(100, 100, 10)]);
        }
        let slowdown = evidence.slowdown().unwrap();
        assert!((slowdown.ratio - ratio).abs() < 1e-9, "{measure:?}: {slowdown:?}");
    }
}

#[test]
fn epochs_without_foreground_say_nothing() {
    let mut evidence = mean_evidence();
    for _ in 0..50 {
        evidence.add(&[epoch(0, 0, 100)], &[epoch(10, 10, 20)]);
        evidence.add(&[epoch(10, 10, 100)], &[epoch(0, 0, 20)]);
        evidence.add(&[epoch(0, 0, 100)], &[epoch(0, 0, 20)]);
    }
    assert_eq!(evidence.slowdown(), None);
    let mut rate = Evidence::new(Measure::Rate, 0.05);
    for _ in 0..50 {
        rate.add(&[epoch(0, 0, 100)], &[epoch(0, 0, 20)]);
    }
    assert_eq!(rate.slowdown(), None);
}

#[test]
fn sparse_blocks_are_added_up_into_pairs() {
    let mut evidence = mean_evidence();
    for _ in 0..40 {
        evidence.add(&[epoch(1, 10, 100)], &[epoch(1, 10, 100)]);
    }
    assert_eq!(evidence.slowdown().unwrap().pairs, 5, "eight times two requests each");
}

#[test]
fn a_change_forgets_just_what_was_before_it() {
    let mut evidence = mean_evidence();
    for i in 0..200 {
        block(&mut evidence, 1000 + 7 * (i % 5), 1000 + 9 * (i % 7));
    }
    assert_eq!((evidence.verdict(), evidence.changes()), (Verdict::Harmless, 0));
    let mut pairs = 0;
    while evidence.verdict() != Verdict::Harmful {
        block(&mut evidence, 1500 + 7 * (pairs % 5), 1000 + 9 * (pairs % 7));
        pairs += 1;
        assert!(pairs <= 24, "a change from 0 to 50% is noticed within two dozen pairs");
        assert!(pairs < 5 || evidence.urgency() > 0.0, "and suspected after four");
    }
    let slowdown = evidence.slowdown().unwrap();
    assert_eq!(u64::from(slowdown.pairs), pairs, "what was before is forgotten");
    assert_eq!(evidence.changes(), 1);
}

#[test]
fn a_verdict_stands_while_the_estimate_stays_on_its_side() {
    let mut evidence = mean_evidence();
    for _ in 0..12 {
        block(&mut evidence, 1000, 1000);
    }
    assert_eq!(evidence.verdict(), Verdict::Harmless);
    for _ in 0..3 {
        block(&mut evidence, 1150, 1000);
    }
    let slowdown = evidence.slowdown().unwrap();
    assert!(slowdown.ratio < 1.05 && slowdown.high > 1.05, "{slowdown:?}");
    assert_eq!(evidence.verdict(), Verdict::Harmless);
    for _ in 0..8 {
        block(&mut evidence, 1150, 1000);
    }
    assert_eq!(evidence.verdict(), Verdict::Unknown);
}

#[test]
fn memory_is_bounded() {
    let mut evidence = mean_evidence();
    for i in 0..MEMORY as u64 + 500 {
        block(&mut evidence, 1000 + i % 13, 1000 + i % 11);
    }
    assert_eq!(evidence.slowdown().unwrap().pairs as usize, MEMORY);
    assert_eq!(evidence.changes(), 0);
}
