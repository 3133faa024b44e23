use super::*;

#[test]
fn tosses_are_fair_and_do_not_depend_on_the_one_before() {
    for seed in [0, 1, 2, u64::MAX] {
        let mut random = Random::new(seed);
        let tosses: Vec<bool> = (0..10_000).map(|_| random.coin()).collect();
        let heads = tosses.iter().filter(|head| **head).count();
        let repeats = tosses.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((4_700..5_300).contains(&heads), "seed {seed}: {heads} heads");
        assert!((4_700..5_300).contains(&repeats), "seed {seed}: {repeats} repeats");
    }
}

#[test]
fn the_same_seed_gives_the_same_tosses_and_another_does_not() {
    let tosses = |seed| {
        let mut random = Random::new(seed);
        std::array::from_fn::<bool, 64, _>(|_| random.coin())
    };
    assert_eq!(tosses(7), tosses(7));
    assert_ne!(tosses(7), tosses(8));
}
