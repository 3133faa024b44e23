use proptest::prelude::*;

use super::{CHUNKS, LEAST_PAUSE, LeftOver, MOST_PAUSE};
use crate::base::time::Nanos;
use crate::memory::pages::PageSet;

/// Looks four times a second for that long; how often a chunk whose pages never go was tried.
fn tries_within(left: &mut LeftOver<u32>, chunk: u32, from: Nanos, time: Nanos) -> usize {
    let (mut now, mut tried) = (from, 0);
    while now < from.plus(time) {
        for drop in left.due(now) {
            tried += usize::from(drop.chunk == chunk);
            left.left(now, drop.chunk, &drop.pages);
        }
        now = now.plus(LEAST_PAUSE);
    }
    tried
}

#[test]
fn pages_that_stay_in_use_are_tried_ever_more_rarely() {
    let mut left = LeftOver::default();
    left.left(Nanos::ZERO, 1, &PageSet::of(0..8));
    left.left(Nanos::ZERO, 1, &PageSet::of(20..22));
    let hour = Nanos::from_secs(3600);
    let tried = tries_within(&mut left, 1, Nanos::ZERO, hour);
    assert!((100..=130).contains(&tried), "{tried} times in an hour");
    // One that is new is not tried the less for it.
    left.left(hour, 2, &PageSet::of(0..1));
    let tried = tries_within(&mut left, 2, hour, MOST_PAUSE);
    assert!((5..=8).contains(&tried), "{tried}");
    let mut all = left.all();
    all.sort_unstable_by_key(|drop| drop.chunk);
    let pages = |index: usize| all.get(index).unwrap().pages.count();
    assert_eq!((all.len(), pages(0), pages(1)), (2, 10, 1), "at the end all of it goes");
}

#[test]
fn what_has_gone_is_forgotten_with_its_pauses() {
    let mut left = LeftOver::default();
    left.left(Nanos::ZERO, 1, &PageSet::of(0..8));
    tries_within(&mut left, 1, Nanos::ZERO, MOST_PAUSE.times(4));
    let later = MOST_PAUSE.times(10);
    assert_eq!(left.due(later).len(), 1);
    assert!(left.due(later.plus(MOST_PAUSE)).is_empty());
    let again = later.plus(MOST_PAUSE.times(2));
    left.left(again, 1, &PageSet::of(0..8));
    assert_eq!(left.due(again.plus(LEAST_PAUSE)).len(), 1, "the first pause is short");
}

proptest! {
    #[test]
    fn nothing_is_lost_but_beyond_the_bound(
        steps in proptest::collection::vec((0_u32..6, 0_u64..1000, any::<bool>()), 1..200),
    ) {
        let mut left = LeftOver::default();
        let mut there: std::collections::BTreeMap<u32, PageSet> = std::collections::BTreeMap::new();
        let mut now = Nanos::ZERO;
        for (chunk, page, tries) in steps {
            now = now.plus(Nanos::from_millis(page));
            if tries {
                for drop in left.due(now) {
                    left.left(now, drop.chunk, &drop.pages);
                }
            } else {
                let pages = PageSet::of(page..page + 1);
                left.left(now, chunk, &pages);
                let known = there.entry(chunk).or_default();
                *known = known.or(&pages);
            }
        }
        let all: std::collections::BTreeMap<_, _> = left.all().into_iter().map(|drop| (drop.chunk, drop.pages)).collect();
        prop_assert_eq!(all, there);
    }
}

#[test]
fn there_is_a_bound_on_what_is_kept_in_mind() {
    let mut left = LeftOver::default();
    for chunk in 0..CHUNKS + 10 {
        left.left(Nanos::ZERO, chunk, &PageSet::of(0..1));
    }
    assert_eq!(left.all().len(), CHUNKS);
}
