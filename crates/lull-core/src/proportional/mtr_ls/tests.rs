use proptest::prelude::*;

use super::*;

const ROUND: Nanos = Nanos::from_millis(20);

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn list(percents: &[u32]) -> MtrLs {
    let mut list = MtrLs::new(ROUND);
    for (at, percent) in percents.iter().enumerate() {
        list.set(QueueId(u32::try_from(at).unwrap()), Share::percent(*percent));
    }
    list
}

#[test]
fn a_process_that_blocks_keeps_its_place_and_the_rest_of_its_quantum() {
    let mut list = list(&[20, 30, 50]);
    let [a, b, c] = [0, 1, 2].map(QueueId);
    [a, b, c].iter().for_each(|id| list.wake(*id));
    assert_eq!(list.next(), Some((a, ms(4))));
    list.ran(a, ms(2));
    list.block(a);
    assert_eq!(list.next(), Some((b, ms(6))));
    list.ran(b, ms(1));
    list.wake(a);
    assert_eq!(list.next(), Some((a, ms(2))), "it preempts whoever stands behind it");
    list.ran(a, ms(2));
    assert_eq!(list.next(), Some((b, ms(5))), "and moves to the rear only now");
    list.ran(b, ms(5));
    list.ran(c, ms(10));
    assert_eq!(list.next(), Some((a, ms(4))), "with a whole quantum");
}

#[test]
fn a_smaller_share_counts_at_once_and_who_leaves_is_gone() {
    let mut list = list(&[50]);
    let only = QueueId(0);
    list.wake(only);
    list.set(only, Share::percent(10));
    assert_eq!(list.next(), Some((only, ms(2))));
    list.set(only, Share::ZERO);
    assert_eq!(list.next(), Some((only, Nanos(1))));
    list.remove(only);
    list.ran(only, ms(1));
    assert_eq!(list.next(), None);
}

/// Processes that block and wake as told; returns service and time able to run, of each.
fn play(list: &mut MtrLs, count: usize, steps: &[(usize, u64, bool)]) -> Vec<(u64, u64)> {
    let mut got = vec![(0, 0); count];
    let mut can_run = vec![false; count];
    for (who, micros, wakes) in steps {
        let who = who % count;
        let id = QueueId(u32::try_from(who).unwrap());
        if *wakes {
            list.wake(id)
        } else {
            list.block(id)
        }
        can_run[who] = *wakes;
        let mut rest = Nanos::from_micros(*micros);
        while let Some((id, most)) = list.next().filter(|_| rest > Nanos::ZERO) {
            let span = most.min(rest);
            list.ran(id, span);
            list.check_invariants();
            got[id.0 as usize].0 += span.0;
            for (who, _) in can_run.iter().enumerate().filter(|(_, can)| **can) {
                got[who].1 += span.0;
            }
            rest = rest.since(span);
        }
    }
    got
}

fn steps() -> impl Strategy<Value = Vec<(usize, u64, bool)>> {
    proptest::collection::vec((0_usize..5, 0_u64..30_000, prop::bool::weighted(0.6)), 1..200)
}

proptest! {
    /// However often they block: never more than `a (1 - a)` of a round is missing.
    #[test]
    fn cumulative_service_is_a_share_of_the_time_able_to_run(
        parts in proptest::collection::vec(1_u32..100, 2..6),
        steps in steps(),
    ) {
        let sum: u32 = parts.iter().sum();
        let percents: Vec<u32> = parts.iter().map(|part| part * 100 / sum).collect();
        let mut list = list(&percents);
        for (at, (service, able)) in play(&mut list, percents.len(), &steps).into_iter().enumerate() {
            let share = f64::from(percents[at]) / 100.0;
            let owed = share * able as f64 - share * (1.0 - share) * ROUND.0 as f64;
            prop_assert!(service as f64 >= owed - 200.0, "{at}: {service} of {owed}");
        }
    }

    /// Work conserving: whenever somebody can run, somebody does.
    #[test]
    fn the_cpu_is_idle_only_if_nobody_can_run(steps in steps()) {
        let mut list = list(&[10, 10, 30, 25, 25]);
        let (mut busy, mut can_run) = (0, [false; 5]);
        for (who, micros, wakes) in &steps {
            can_run[*who] = *wakes;
            busy += if can_run.contains(&true) { micros * 1_000 } else { 0 };
        }
        let served: u64 = play(&mut list, 5, &steps).iter().map(|(service, _)| service).sum();
        prop_assert_eq!(served, busy);
    }

    /// Two that can run all the time differ by less than two rounds per share, whatever the others do.
    #[test]
    fn two_busy_processes_get_the_same_per_share(
        (a, b) in (1_u32..45, 1_u32..45),
        before in steps(),
        during in proptest::collection::vec((2_usize..5, 0_u64..30_000, any::<bool>()), 1..100),
    ) {
        let mut list = list(&[a, b, 3, 3, 4]);
        play(&mut list, 5, &before);
        play(&mut list, 5, &[(0, 0, true), (1, 0, true)]);
        let got = play(&mut list, 5, &during);
        let per_share = |at: usize, percent: u32| got[at].0 as f64 * 100.0 / f64::from(percent);
        let apart = (per_share(0, a) - per_share(1, b)).abs();
        prop_assert!(apart <= 2.0 * ROUND.0 as f64 + 200.0, "{apart}");
    }
}
