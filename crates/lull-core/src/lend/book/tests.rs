use super::*;
use crate::budget::BudgetSetting;

const TOP: Rung = Rung { first: 2, second: 6 };
const NOW: Nanos = Nanos::from_secs(100);
const LATER: Nanos = Nanos::from_secs(200);

fn book() -> Book {
    Book::new(Ladder::up_to(TOP), Measure::Mean, Loss::percent(5))
}

fn rung(first: u8, second: u8) -> Rung {
    Rung { first, second }
}

/// Blocks that show a slowdown in percent, and work.
fn teach(record: &mut Record, percent: u64, work: u64, blocks: u64) {
    let span = Nanos::from_millis(25);
    let epoch = |each: u64| Epoch { count: 20, sum: 20 * each, work, span };
    for block in 0..blocks {
        let lent = epoch(1_000 + 10 * percent + block % 3);
        record.evidence.add(&[lent], &[epoch(1_000 + block % 2)]);
        record.worked(&lent);
    }
}

#[test]
fn the_top_is_tried_first_and_then_what_is_left_is_halved() {
    let mut book = book();
    assert_eq!(book.candidate(NOW, Rung::BOTTOM), Some(TOP));
    book.bar(TOP, LATER);
    let mut tries = 0;
    let mut base = Rung::BOTTOM;
    // Whatever is bolder than (2, 3) harms.
    while let Some(next) = book.candidate(NOW, base) {
        tries += 1;
        if next.is_within(rung(2, 3)) {
            base = next
        } else {
            book.bar(next, LATER)
        }
        assert!(tries < 8, "at {next:?}");
    }
    assert_eq!(base, rung(2, 3), "after {tries} tries");
}

#[test]
fn a_rung_that_failed_bars_all_that_are_bolder_until_it_may_be_tried_again() {
    let mut book = book();
    book.bar(rung(1, 2), LATER);
    for barred in [rung(1, 2), rung(2, 2), rung(1, 6), TOP] {
        assert!(book.is_barred(barred, NOW) && !book.is_barred(barred, LATER), "{barred:?}");
    }
    assert!(!book.is_barred(rung(2, 1), NOW) && !book.is_barred(Rung::BOTTOM, NOW));
    assert_eq!(book.candidate(NOW, rung(2, 1)), None);
    book.pardon();
    assert_eq!(book.candidate(NOW, rung(2, 1)), Some(TOP));
}

#[test]
fn the_refuge_is_the_rung_with_most_work_of_those_that_fit() {
    let mut book = book();
    let room = Loss::percent(4);
    assert_eq!(book.refuge(NOW, TOP, room), Rung::BOTTOM, "nothing is known");
    teach(book.of_mut(rung(1, 1)), 1, 10, 20);
    teach(book.of_mut(rung(1, 4)), 3, 30, 20);
    teach(book.of_mut(rung(2, 5)), 9, 50, 20);
    teach(book.of_mut(rung(2, 0)), 0, 40, 3);
    assert_eq!(book.refuge(NOW, TOP, room), rung(1, 4), "what is harmful or hardly known does not count");
    assert_eq!(book.refuge(NOW, rung(1, 4), room), rung(1, 1), "nor what is as bold");
    book.bar(rung(1, 0), LATER);
    assert_eq!(book.refuge(NOW, TOP, room), Rung::BOTTOM, "nor what is barred");
}

#[test]
fn loss_waits_until_something_is_known_and_is_booked_with_caution_until_it_is_proved() {
    let mut budget = Budget::new(BudgetSetting::default());
    let mut book = book();
    let record = book.of_mut(TOP);
    let lend = |record: &mut Record, budget: &mut Budget| {
        let before = budget.lost();
        record.lent(Nanos::from_secs(1));
        record.book_base(0.05, budget);
        budget.lost().since(before).as_secs_f64()
    };
    assert_eq!(lend(record, &mut budget), 0.0);
    teach(record, 10, 1, 5);
    let waited = lend(record, &mut budget);
    assert!((waited - 0.2).abs() < 0.01, "two seconds at 10%: {waited}");
    teach(record, 10, 1, 6);
    let slowdown = record.known().unwrap();
    let cautious = lend(record, &mut budget);
    assert!((cautious - f64::midpoint(slowdown.ratio, slowdown.high) + 1.0).abs() < 1e-6, "{cautious}");
    let record = book.of_mut(rung(1, 0));
    teach(record, 2, 1, 40);
    let proved = lend(record, &mut budget);
    assert!((proved - 0.02).abs() < 0.002, "{proved}");
}

#[test]
fn loss_since_a_change_is_booked_afterwards() {
    let mut budget = Budget::new(BudgetSetting::default());
    let mut book = book();
    let record = book.of_mut(TOP);
    teach(record, 0, 1, 100);
    let before = record.loss();
    teach(record, 50, 1, 40);
    assert_eq!(record.evidence.changes(), 1);
    record.book_change(before, &mut budget);
    let lost = budget.lost().as_secs_f64();
    assert!((lost - 0.5 * 40.0 * 0.025).abs() < 0.02, "half of 40 epochs of 25 ms: {lost}");
}

#[test]
fn what_is_suspended_is_barred_until_it_is_resumed_and_a_bar_for_another_reason_stays() {
    let mut book = book();
    book.suspend(TOP);
    assert!(book.is_barred(TOP, LATER));
    book.resume(TOP);
    assert!(!book.is_barred(TOP, NOW));
    book.bar(TOP, LATER);
    book.resume(TOP);
    assert!(book.is_barred(TOP, NOW) && !book.is_barred(TOP, LATER));
}
