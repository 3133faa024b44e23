use proptest::prelude::*;

use super::*;

#[test]
fn a_cpu_ladder_goes_from_nothing_to_everything() {
    let choices = CpuChoices::of_cpus(2);
    let ladder = choices.ladder();
    assert_eq!(ladder.len(), 1 + 2 * 7);
    assert_eq!(choices.choice(Rung::BOTTOM), None);
    let first = choices.choice(Rung { first: 1, second: 0 });
    assert_eq!(first, Some((1, HoldRule::While(Nanos::from_millis(2)))));
    assert_eq!(choices.choice(ladder.top()), Some((2, HoldRule::Never)));
    assert_eq!(choices.choice(Rung { first: 3, second: 0 }), None);
}

#[test]
fn the_boldest_rung_with_a_rule_lends_all_cpus() {
    let choices = CpuChoices::of_cpus(3);
    let rule = HoldRule::While(Nanos::from_micros(200));
    assert_eq!(choices.boldest(rule).and_then(|rung| choices.choice(rung)), Some((3, rule)));
    assert_eq!(choices.boldest(HoldRule::Never), Some(choices.ladder().top()));
    assert_eq!(choices.boldest(HoldRule::While(Nanos(1))), None);
}

#[test]
fn a_disk_ladder_ends_with_every_request_and_no_interval() {
    let choices = DiskChoices::of_disk(32, Nanos::from_millis(64));
    assert_eq!(choices.choice(choices.ladder().top()), Some((32, Interval::NONE)));
    let lengths: Vec<_> =
        (0..5).filter_map(|second| choices.choice(Rung { first: 1, second })).map(|(_, p)| p).collect();
    let ms = |ms| Interval::Finite(Nanos::from_millis(ms));
    assert_eq!(lengths, [ms(64), ms(16), ms(4), ms(1), Interval::NONE]);
}

#[test]
fn without_cpus_there_is_nothing_to_choose() {
    let ladder = CpuChoices::of_cpus(0).ladder();
    assert!(ladder.is_empty());
    assert_eq!(ladder.rungs().collect::<Vec<_>>(), [Rung::BOTTOM]);
}

proptest! {
    #[test]
    fn places_follow_the_order_of_rungs(first in 0..20_u8, second in 0..20_u8) {
        let ladder = Ladder::up_to(Rung { first, second });
        let places: Vec<_> = ladder.rungs().map(|rung| ladder.place(rung)).collect();
        prop_assert_eq!(&places, &(0..ladder.len()).collect::<Vec<_>>());
        prop_assert!(ladder.rungs().all(|rung| rung.is_within(ladder.top()) && Rung::BOTTOM.is_within(rung)));
    }

    #[test]
    fn steps_rise_to_the_most(most in 1..100_000_u32) {
        let steps = steps(most);
        prop_assert!(steps.len() <= MOST && steps.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!((steps[0], steps[steps.len() - 1]), (1, most));
    }
}
