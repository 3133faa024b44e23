use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A foreground of one request of 1 ms per `gap`.
fn reading_at(now: Nanos, gap: Nanos) -> Reading {
    let count = now.0 / gap.0;
    Reading { count, sum: count * 1_000_000, work: 0 }
}

#[test]
fn nothing_is_withheld_without_foreground_or_without_work() {
    for (gap, work) in [(Nanos::MAX, true), (ms(1), false)] {
        let mut trial = Trial::new(TrialSetting::default(), 1);
        for at in 0..5_000 {
            assert_eq!(trial.record(ms(at), reading_at(ms(at), gap), work), Arm::Lent);
            assert_eq!(trial.next_change(), None);
        }
        assert_eq!((trial.slowdown(), trial.cost().withheld), (None, Nanos::ZERO));
    }
}

#[test]
fn the_pieces_of_a_lent_epoch_are_all_of_it_and_about_as_long_as_the_withheld_one() {
    let mut schedule = Schedule::new(TrialSetting::default(), 1);
    let demand = Share::percent(5);
    let mut blocks = 0;
    for at in 0..20_000 {
        let Some(block) = schedule.step(ms(at), reading_at(ms(at), ms(1)), true, demand) else { continue };
        blocks += 1;
        let sum = block.lent_pieces.iter().fold(Epoch::default(), |sum, piece| sum.and(piece));
        assert_eq!(sum, block.lent);
        let wanted = block.withheld.span.0;
        let is_alike = |piece: &Epoch| (wanted / 2..=wanted * 3 / 2).contains(&piece.span.0);
        assert!(block.lent_pieces.iter().all(is_alike), "{block:?}");
    }
    assert!(blocks > 10, "{blocks}");
}

#[test]
fn what_is_withheld_is_the_share_that_was_asked_for_and_looks_are_few() {
    let mut trial = Trial::new(TrialSetting::default(), 1);
    let (mut now, mut looks) = (ms(1), 0);
    while now < ms(60_000) {
        trial.record(now, reading_at(now, ms(1)), true);
        looks += 1;
        now = trial.next_change().unwrap_or_else(|| now.plus(ms(100))).max(now.plus(Nanos(1)));
    }
    let share = trial.cost().withheld.0 as f64 / 60e9;
    assert_eq!(trial.verdict(), Verdict::Harmless);
    assert!((0.01..0.05).contains(&share), "{share}");
    assert!(looks < 60 * 40, "{looks}");
}

/// Ten requests in service at a time, each slower by a fifth: that is a fifth of the foreground's time, and not twice all of it.
#[test]
fn no_more_is_lost_than_the_slowdown_however_many_are_in_service() {
    for (gap_us, most) in [(100, 0.25), (10_000, 0.025)] {
        let mut trial = Trial::new(TrialSetting { recovery: 1, ..TrialSetting::default() }, 1);
        let mut reading = Reading::default();
        for at in 1..20_000 {
            let slower = if trial.arm() == Arm::Lent { 1_200_000 } else { 1_000_000 };
            let ended = 1_000 * at / gap_us - reading.count;
            reading = Reading { count: reading.count + ended, sum: reading.sum + ended * slower, work: at };
            trial.record(ms(at), reading, true);
        }
        let [likely, least, upper] = trial.loss().unwrap();
        assert!(least <= likely && likely <= upper && likely > most / 2.0 && likely < most, "{likely}");
    }
}

#[test]
fn testing_ends_with_the_foreground_and_begins_with_it_again() {
    let mut trial = Trial::new(TrialSetting::default(), 1);
    let withheld_in = |trial: &mut Trial, from: u64, until: u64, reading: &dyn Fn(u64) -> Reading| {
        let before = trial.cost().withheld;
        for at in from..until {
            trial.record(ms(at), reading(at), true);
        }
        trial.cost().withheld.since(before)
    };
    let at_work = |at| reading_at(ms(at), ms(1));
    assert!(withheld_in(&mut trial, 0, 2_000, &at_work) > ms(100));
    assert!(withheld_in(&mut trial, 2_000, 20_000, &|_| at_work(2_000)) < ms(100), "the last block ends");
    assert!(withheld_in(&mut trial, 20_000, 22_000, &at_work) > ms(20));
}

#[test]
fn a_sensor_that_restarts_costs_one_block() {
    let mut trial = Trial::new(TrialSetting::default(), 1);
    for at in 0..10_000 {
        let sensor = if at < 5_000 { at } else { at - 5_000 };
        trial.record(ms(at), reading_at(ms(sensor), ms(1)), true);
    }
    let slowdown = trial.slowdown().unwrap();
    assert!((slowdown.ratio - 1.0).abs() < 1e-9, "{slowdown:?}");
    assert_eq!(trial.verdict(), Verdict::Harmless);
}

#[test]
fn late_calls_lose_nothing() {
    // Requests take twice as long while lent; the owner calls every 37 ms instead of when it should.
    let mut trial = Trial::new(TrialSetting::default(), 1);
    let mut reading = Reading::default();
    for call in 0..1_000_u64 {
        let took = if trial.arm() == Arm::Lent { 2 } else { 1 };
        reading = Reading { count: reading.count + 37, sum: reading.sum + 37 * took, work: 0 };
        trial.record(ms(37 * call), reading, true);
    }
    let slowdown = trial.slowdown().unwrap();
    assert!((slowdown.ratio - 2.0).abs() < 1e-9, "{slowdown:?}");
}

#[test]
fn the_same_seed_gives_the_same_arms() {
    let arms = |seed| {
        let mut trial = Trial::new(TrialSetting::default(), seed);
        (0..3_000).map(|at| trial.record(ms(at), reading_at(ms(at), ms(1)), true)).collect::<Vec<_>>()
    };
    assert_eq!(arms(5), arms(5));
    assert_ne!(arms(5), arms(6));
}

proptest! {
    #[test]
    fn a_hold_is_never_longer_than_allowed_nor_more_than_its_share(
        seed in any::<u64>(),
        washout in 0..10_u64,
        longest in 25..200_u64,
        gap_us in 100..50_000_u64,
        dense in 5..30_u32,
    ) {
        let setting = TrialSetting {
            washout: ms(washout),
            longest: ms(longest),
            dense: Share::percent(dense),
            ..TrialSetting::default()
        };
        let mut trial = Trial::new(setting, seed);
        let mut now = Nanos::ZERO;
        let (mut since, mut withheld) = (None, Nanos::ZERO);
        while now < Nanos::from_secs(20) {
            let arm = trial.record(now, reading_at(now, Nanos::from_micros(gap_us)), true);
            let next = trial.next_change().unwrap_or_else(|| now.plus(ms(1)));
            if arm == Arm::Withheld {
                let since = *since.get_or_insert(now);
                prop_assert!(next.since(since) <= ms(longest), "held for {}", next.since(since));
                withheld = withheld.plus(next.since(now));
            } else {
                since = None;
            }
            now = next;
        }
        let share = withheld.0 as f64 / now.0 as f64;
        prop_assert!(share <= f64::from(dense) / 100.0 + 0.03, "withheld {share}");
    }
}

#[test]
fn a_job_that_pauses_is_compared_by_the_time_in_which_it_works() {
    // Requests take twice as long while the job is lent the resource and works; it works 60 ms of each 100 unless it is held.
    let mut trial = Trial::new(TrialSetting::default(), 1);
    let (mut reading, mut worked) = (Reading::default(), 0);
    for at in 0..60_000 {
        let is_held = trial.arm() == Arm::Withheld;
        let wants = is_held || worked % 100 < 60;
        let arm = trial.record(ms(at), reading, wants);
        worked += u64::from(!is_held);
        reading.count += 1;
        reading.sum += if arm == Arm::Lent && wants { 2_000_000 } else { 1_000_000 };
    }
    let slowdown = trial.slowdown().unwrap();
    assert!(slowdown.pairs >= 12, "{slowdown:?}");
    assert!((slowdown.ratio - 2.0).abs() < 0.1, "{slowdown:?}");
}

#[test]
fn a_long_pause_ends_the_block() {
    let mut trial = Trial::new(TrialSetting::default(), 1);
    let mut now = 0;
    while trial.arm() != Arm::Withheld {
        now += 1;
        trial.record(ms(now), reading_at(ms(now), ms(1)), true);
    }
    assert_eq!(trial.record(ms(now + 1), reading_at(ms(now + 1), ms(1)), false), Arm::Lent);
    assert_eq!(trial.next_change(), None, "nothing is waited for");
    trial.record(ms(now + 3_000), reading_at(ms(now + 3_000), ms(1)), false);
    let until = (1..200).find(|step| {
        let at = ms(now + 3_000 + step);
        trial.record(at, reading_at(at, ms(1)), true) == Arm::Withheld
    });
    assert!(until.is_some(), "a new block begins");
}
