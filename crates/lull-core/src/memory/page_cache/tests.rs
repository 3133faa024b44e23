//! What streams past goes, what is read again stays, and the bound holds.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{Eviction, KeptPages};
use crate::base::time::Nanos;
use crate::memory::pages::{CHUNK_PAGES, PageSet};

fn whole() -> PageSet {
    PageSet::of(0..CHUNK_PAGES)
}

/// The job reads these chunks in order, each from the disk if it is not there. How many of the reads found it there.
fn read(
    keep: &mut KeptPages<u64>,
    resident: &mut HashSet<u64>,
    now: Nanos,
    chunks: impl IntoIterator<Item = u64>,
) -> u64 {
    let mut hits = 0;
    for chunk in chunks {
        if resident.insert(chunk) {
            keep.filled(now, chunk, &whole());
        } else {
            hits += 1;
        }
        for drop in keep.excess(now) {
            assert!(resident.remove(&drop.chunk));
        }
    }
    hits
}

#[test]
fn a_stream_leaves_no_more_than_the_bound_and_in_the_end_nothing() {
    let (mut keep, mut resident) = (KeptPages::new(8 * CHUNK_PAGES), HashSet::new());
    assert_eq!(read(&mut keep, &mut resident, Nanos(1), 0..1000), 0);
    assert_eq!(resident.len(), 8);
    assert!((992..1000).all(|chunk| resident.contains(&chunk)), "the youngest stay");
    assert_eq!(keep.finish().len(), 8);
    assert_eq!(keep.pages(), 0);
    assert!(keep.finish().is_empty());
}

#[test]
fn a_loop_over_more_than_fits_keeps_what_fits() {
    let (mut keep, mut resident) = (KeptPages::new(8 * CHUNK_PAGES), HashSet::new());
    for _ in 0..3 {
        read(&mut keep, &mut resident, Nanos(1), 0..16);
    }
    let hits = read(&mut keep, &mut resident, Nanos(1), 0..16);
    assert_eq!(hits, 4, "half of the bound is for what is read again");
}

#[test]
fn what_is_read_again_survives_a_stream() {
    let (mut keep, mut resident) = (KeptPages::new(8 * CHUNK_PAGES), HashSet::new());
    read(&mut keep, &mut resident, Nanos(1), [1, 2]);
    read(&mut keep, &mut resident, Nanos(1), 100..200);
    read(&mut keep, &mut resident, Nanos(1), [1, 2]);
    read(&mut keep, &mut resident, Nanos(1), 200..300);
    assert_eq!(read(&mut keep, &mut resident, Nanos(1), [1, 2]), 2);
}

#[test]
fn what_was_read_again_goes_in_the_end() {
    let (mut keep, mut resident) = (KeptPages::new(2 * CHUNK_PAGES), HashSet::new());
    read(&mut keep, &mut resident, Nanos(1), (0..4).chain([0]));
    assert!(resident.contains(&0));
    let later = keep.next_look().unwrap();
    assert!(keep.excess(Nanos(later.0 - 1)).is_empty());
    assert_eq!(keep.excess(later).iter().map(|drop| drop.chunk).collect::<Vec<_>>(), [0]);
    assert_eq!(keep.next_look(), None);
}

#[test]
fn other_pages_of_the_same_chunk_are_not_read_again() {
    let mut keep = KeptPages::new(0);
    keep.filled(Nanos(1), 7, &PageSet::of([1]));
    assert_eq!(keep.excess(Nanos(1)), [Eviction { chunk: 7, pages: PageSet::of([1]) }]);
    keep.set_bound(100);
    keep.filled(Nanos(1), 7, &PageSet::of([2]));
    assert_eq!(keep.next_look(), None, "it is fresh");
}

#[derive(Clone, Debug)]
enum Step {
    Fill(u8, u64, u64),
    Forget(u8, u64, u64),
    Excess,
    Bound(u64),
    Sleep(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0_u8..12, 0..CHUNK_PAGES, 1_u64..400);
    let step = prop_oneof![
        6 => range.clone().prop_map(|(chunk, first, pages)| Step::Fill(chunk, first, pages)),
        1 => range.prop_map(|(chunk, first, pages)| Step::Forget(chunk, first, pages)),
        4 => Just(Step::Excess),
        1 => (0_u64..3000).prop_map(Step::Bound),
        1 => (0_u64..20).prop_map(Step::Sleep),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// Every page that came in and was not forgotten is told to be dropped once, and after each look no more than the
    /// bound is kept.
    #[test]
    fn nothing_is_lost_and_the_bound_holds(steps in steps()) {
        let mut bound = 1500;
        let mut keep = KeptPages::new(bound);
        let mut model: HashSet<(u8, u64)> = HashSet::new();
        let mut now = Nanos(1);
        let range = |first: u64, pages: u64| first..(first + pages).min(CHUNK_PAGES);
        for step in steps {
            match step {
                Step::Fill(chunk, first, pages) => {
                    model.extend(range(first, pages).map(|page| (chunk, page)));
                    keep.filled(now, chunk, &PageSet::of(range(first, pages)));
                }
                Step::Forget(chunk, first, pages) => {
                    for page in range(first, pages) {
                        model.remove(&(chunk, page));
                    }
                    keep.forget(chunk, &PageSet::of(range(first, pages)));
                }
                Step::Bound(pages) => {
                    bound = pages;
                    keep.set_bound(pages);
                }
                Step::Sleep(seconds) => now = now.plus(Nanos::from_secs(seconds)),
                Step::Excess => {
                    for drop in keep.excess(now) {
                        for run in drop.pages.runs() {
                            for page in run.first..run.first + run.pages {
                                prop_assert!(model.remove(&(drop.chunk, page)));
                            }
                        }
                    }
                    prop_assert!(keep.pages() <= bound);
                }
            }
            prop_assert_eq!(keep.pages(), model.len() as u64);
        }
        for drop in keep.finish() {
            for run in drop.pages.runs() {
                for page in run.first..run.first + run.pages {
                    prop_assert!(model.remove(&(drop.chunk, page)));
                }
            }
        }
        prop_assert!(model.is_empty());
    }
}
