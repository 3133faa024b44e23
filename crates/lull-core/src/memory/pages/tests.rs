//! Sets of pages against sets of numbers.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{CHUNK_PAGES, PageSet, Run};

fn members(set: &PageSet) -> BTreeSet<u64> {
    set.runs().into_iter().flat_map(|run| run.first..run.first + run.pages).collect()
}

#[test]
fn runs_cross_words_and_end_with_the_chunk() {
    let set = PageSet::of([0, 63, 64, 65, 1022, 1023, 1024, u64::MAX]);
    let runs = [(0, 1), (63, 3), (1022, 2)].map(|(first, pages)| Run { first, pages });
    assert_eq!(set.runs(), runs);
    assert_eq!(set.count(), 6);
    assert!(PageSet::EMPTY.runs().is_empty() && PageSet::EMPTY.is_empty() && !set.is_empty());
}

proptest! {
    #[test]
    fn it_is_a_set_of_numbers(
        a in prop::collection::btree_set(0..CHUNK_PAGES, 0..80),
        b in prop::collection::btree_set(0..CHUNK_PAGES, 0..80),
    ) {
        let [x, y] = [&a, &b].map(|set| PageSet::of(set.iter().copied()));
        prop_assert_eq!(x.count(), a.len() as u64);
        prop_assert_eq!(&members(&x), &a);
        prop_assert_eq!(members(&x.or(&y)), a.union(&b).copied().collect());
        prop_assert_eq!(members(&x.and(&y)), a.intersection(&b).copied().collect());
        prop_assert_eq!(members(&x.without(&y)), a.difference(&b).copied().collect());
    }
}
