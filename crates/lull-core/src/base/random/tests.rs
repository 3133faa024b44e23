use super::*;

#[test]
fn numbers_are_as_likely_as_each_other_and_do_not_depend_on_the_one_before() {
    for seed in [0, 1, 2, u64::MAX] {
        let mut random = Random::new(seed);
        let numbers: Vec<u32> = (0..10_000).map(|_| random.below(4)).collect();
        let repeats = numbers.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((2_300..2_700).contains(&repeats), "seed {seed}: {repeats} repeats");
        for wanted in 0..4 {
            let count = numbers.iter().filter(|number| **number == wanted).count();
            assert!((2_300..2_700).contains(&count), "seed {seed}: {count} times {wanted}");
        }
    }
    assert_eq!(Random::new(1).below(0), 0);
}

#[test]
fn every_order_is_as_likely() {
    let mut random = Random::new(3);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..6_000 {
        let mut items = [0, 1, 2];
        random.shuffle(&mut items);
        *counts.entry(items).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
}

#[test]
fn the_same_seed_gives_the_same_numbers_and_another_does_not() {
    let numbers = |seed| {
        let mut random = Random::new(seed);
        std::array::from_fn::<u32, 64, _>(|_| random.below(2))
    };
    assert_eq!(numbers(7), numbers(7));
    assert_ne!(numbers(7), numbers(8));
}
