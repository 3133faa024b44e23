//! Every dirty page is written, the oldest first, and young ones rest while there are few.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Cleaner, Pace, Portion, REST};
use crate::base::time::Nanos;
use crate::memory::pages::{CHUNK_PAGES, PageSet, Run};

fn range(first: u64, pages: u64) -> PageSet {
    PageSet::of(first..first + pages)
}

#[test]
fn a_few_young_pages_rest() {
    let mut cleaner = Cleaner::new(1000);
    cleaner.dirtied(Nanos(1), 'a', &range(0, 10));
    assert_eq!(cleaner.next(Nanos(2), 64), None);
    let due = cleaner.next_look().unwrap();
    assert_eq!(due, Nanos(1).plus(REST));
    let portion = Portion { chunk: 'a', run: Run { first: 0, pages: 10 }, pages: range(0, 10) };
    assert_eq!(cleaner.next(due, 64), Some(portion));
    assert_eq!((cleaner.pages(), cleaner.next_look()), (10, None));
    cleaner.written(&portion);
    assert_eq!(cleaner.pages(), 0);
}

#[test]
fn many_pages_do_not_rest_nor_does_anything_in_a_hurry() {
    let mut cleaner = Cleaner::new(100);
    cleaner.dirtied(Nanos(1), 'a', &range(0, 26));
    assert!(cleaner.next(Nanos(1), 8).is_some());
    assert!(!cleaner.is_over());
    let mut cleaner = Cleaner::new(100);
    cleaner.dirtied(Nanos(1), 'a', &range(0, 1));
    cleaner.hurry(true);
    assert!(cleaner.next(Nanos(1), 8).is_some());
}

#[test]
fn a_page_that_becomes_dirty_while_it_is_written_is_written_again() {
    let mut cleaner = Cleaner::new(0);
    cleaner.dirtied(Nanos(1), 'a', &range(5, 1));
    let first = cleaner.next(Nanos(1), 8).unwrap();
    cleaner.dirtied(Nanos(2), 'a', &range(5, 1));
    assert!(cleaner.is_over());
    assert_eq!(cleaner.waiting('a'), range(5, 1));
    cleaner.written(&first);
    assert_eq!(cleaner.next(Nanos(2), 8), Some(first));
}

#[test]
fn scattered_pages_share_a_window() {
    let mut cleaner = Cleaner::new(0);
    let every_other = PageSet::of((0..64).map(|page| 100 + 2 * page));
    cleaner.dirtied(Nanos(1), 'a', &every_other);
    let first = cleaner.next(Nanos(1), 16).unwrap();
    assert_eq!((first.run, first.pages.count()), (Run { first: 100, pages: 15 }, 8));
    assert_eq!(cleaner.pages(), 64);
    // What is clean in between is not taken for the job's.
    assert!(first.pages.without(&every_other).is_empty());
    cleaner.written(&first);
    assert_eq!(cleaner.pages(), 56);
    let portions = std::iter::from_fn(|| cleaner.next(Nanos(1), 16)).count();
    assert_eq!(portions, 7);
}

#[test]
fn beside_a_foreground_one_small_portion_is_under_way_and_more_as_the_window_opens() {
    let narrow = Pace::within(0);
    assert_eq!(narrow.in_flight, 1);
    assert_eq!(Pace::within(256 << 10), narrow);
    let wide = Pace::within(u64::MAX);
    assert!(wide.is_wide() && wide == Pace::within(4 << 20));
    for window_bytes in (0..5 << 20).step_by(4096) {
        let pace = Pace::within(window_bytes);
        assert!(pace == narrow || pace.in_flight as u64 * pace.bytes <= window_bytes, "{window_bytes}");
        assert_eq!(pace.is_wide(), window_bytes >= 4 << 20);
    }
}

proptest! {
    #[test]
    fn every_page_is_written_in_the_order_of_the_chunks_and_counted(
        writes in prop::collection::vec((0_u8..5, 0..CHUNK_PAGES - 50, 1_u64..50), 1..60),
        most in 1_u64..80,
    ) {
        let mut cleaner = Cleaner::new(0);
        let mut model = BTreeSet::new();
        let mut order = Vec::new();
        for (at, (chunk, first, pages)) in writes.iter().enumerate() {
            cleaner.dirtied(Nanos(at as u64), *chunk, &range(*first, *pages));
            model.extend((*first..first + pages).map(|page| (*chunk, page)));
            if !order.contains(chunk) {
                order.push(*chunk);
            }
            prop_assert_eq!(cleaner.pages(), model.len() as u64);
        }
        let mut seen = Vec::new();
        while let Some(portion) = cleaner.next(Nanos::from_secs(9), most) {
            prop_assert!(portion.run.pages <= most);
            for page in portion.pages.runs().into_iter().flat_map(|run| run.first..run.first + run.pages) {
                prop_assert!(model.remove(&(portion.chunk, page)));
            }
            if seen.last() != Some(&portion.chunk) {
                seen.push(portion.chunk);
            }
            cleaner.written(&portion);
        }
        prop_assert!(model.is_empty());
        prop_assert_eq!(cleaner.pages(), 0);
        prop_assert_eq!(seen, order);
    }
}
