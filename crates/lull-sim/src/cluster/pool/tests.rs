//! Pools whose answer is known.

use std::sync::Arc;

use super::super::owner::{Replay, Sample, Statistics};
use super::*;

const HOUR: u64 = 3_600;

fn secs(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

fn sample(at: u64, load: f32, in_use: bool) -> Sample {
    Sample { at: secs(at), load, memory: 0.0, in_use }
}

fn replay(nodes: Vec<Vec<Sample>>, length: u64) -> Owners {
    Owners::Replayed(Arc::new(Replay { nodes, length: secs(length) }))
}

fn setup(policy: GuestPolicy, nodes: u32, owners: Owners) -> Setup {
    Setup {
        nodes,
        owners,
        guests: nodes * 2,
        work: vec![secs(600)],
        arrivals: Vec::new(),
        renew: true,
        saves: 1.0,
        memory: 0.0,
        pause: secs(20),
        patience: secs(60),
        policy,
        seed: 1,
    }
}

fn run(setup: Setup, hours: u64) -> (Pool, Tally) {
    // Without switches, so that shares are what the owner leaves.
    let mut pool = Pool::new(setup, Gaps::measure(Nanos::ZERO, 1));
    pool.run_until(secs(hours * HOUR));
    let tally = pool.take();
    (pool, tally)
}

/// Half an hour at work with this load, half an hour away.
fn halves(load: f32) -> Vec<Sample> {
    vec![sample(0, load, true), sample(HOUR / 2, 0.0, false)]
}

#[test]
fn a_crowded_pool_gives_what_owners_leave() {
    let owners = Owners::Drawn(Arc::new(Statistics::default()));
    let of = |policy| run(setup(policy, 100, owners.clone()), 200).1;
    let statistics = Statistics::default();
    let (in_use, load) = (statistics.in_use, statistics.mean_load());
    let suspended = of(GuestPolicy::SuspendInPlace).throughput();
    assert!((suspended - (1.0 - in_use)).abs() < 0.02, "{suspended}");
    let forever = of(GuestPolicy::LingerForever);
    assert!((forever.throughput() - (1.0 - in_use * load)).abs() < 0.02, "{}", forever.throughput());
    assert!((forever.owner_s / forever.node_s - in_use * load).abs() < 0.01);
    assert_eq!((forever.moves, forever.evictions), (0, 0));
    let evicted = of(GuestPolicy::ImmediateEviction);
    assert!(evicted.throughput() <= suspended, "restarts take time");
    assert!(evicted.evictions + evicted.moves > 0);
    let longer = of(GuestPolicy::LingerLonger);
    assert!(longer.moves > 0);
    assert!(evicted.throughput() < longer.throughput() && longer.throughput() < forever.throughput());
}

#[test]
fn no_work_is_lost_or_done_twice_without_being_counted() {
    for policy in GuestPolicy::ALL {
        for saves in [0.0, 0.5, 1.0] {
            let owners = Owners::Drawn(Arc::new(Statistics::default()));
            let setup = Setup { saves, ..setup(policy, 20, owners) };
            let (pool, tally) = run(setup, 50);
            let under_way: f64 = pool.guests.iter().map(|guest| guest.work_s - guest.remaining_s).sum();
            let done = tally.finished as f64 * 600.0 + under_way;
            assert!((tally.work_s - tally.lost_s - done).abs() < 1e-3, "{policy}, {saves}");
            assert_eq!(
                tally.lost_s == 0.0,
                saves == 1.0
                    || !matches!(
                        policy,
                        GuestPolicy::ImmediateEviction
                            | GuestPolicy::PauseAndMigrate
                            | GuestPolicy::LingerLonger
                    ),
                "{policy}, {saves}"
            );
            // Each guest is in one place.
            let mut places = vec![0; pool.guests.len()];
            for guest in &pool.queue {
                places[*guest as usize] += 1;
            }
            for node in &pool.nodes {
                if let Seat::Taken(guest) | Seat::Coming(guest) = node.seat {
                    places[guest as usize] += 1;
                }
            }
            assert!(places.iter().all(|count| *count == 1), "{policy}: {places:?}");
        }
    }
}

#[test]
fn one_guest_one_node_by_hand() {
    let owners =
        replay(vec![vec![sample(0, 0.0, false), sample(300, 0.5, true), sample(700, 0.0, false)]], 1_000);
    let finished_at = |policy| {
        let setup = Setup { guests: 1, renew: false, ..setup(policy, 1, owners.clone()) };
        let mut pool = Pool::new(setup, Gaps::measure(Nanos::ZERO, 1));
        pool.run_until(secs(10_000));
        let tally = pool.take();
        assert_eq!((tally.finished, pool.left()), (1, 0));
        tally
    };
    // 300 s alone, then half of 400 s in the gaps, then 100 s.
    let lingered = finished_at(GuestPolicy::LingerForever);
    assert!((lingered.stay_s - 800.0).abs() < 5.0, "{}", lingered.stay_s);
    assert!(
        (finished_at(GuestPolicy::LingerLonger).stay_s - lingered.stay_s).abs() < 1e-6,
        "there is no other place"
    );
    let suspended = finished_at(GuestPolicy::SuspendInPlace);
    assert!((suspended.stay_s - 1_000.0).abs() < 1e-6, "{}", suspended.stay_s);
    assert_eq!(finished_at(GuestPolicy::PauseAndMigrate).stay_s, suspended.stay_s);
    // It needs 20 s to come back from the queue.
    let evicted = finished_at(GuestPolicy::ImmediateEviction);
    assert!((evicted.stay_s - 1_020.0).abs() < 1e-6, "{}", evicted.stay_s);
}

#[test]
fn a_guest_moves_to_the_node_that_is_free_and_only_where_it_pays() {
    // One owner works all the time from 300 s on, the other never.
    let owners = |load| {
        replay(
            vec![vec![sample(0, 0.0, false), sample(300, load, true)], vec![sample(0, 0.0, false)]],
            100_000,
        )
    };
    let run = |policy, load| {
        let setup = Setup {
            guests: 2,
            work: vec![secs(3_000), secs(300)],
            renew: false,
            ..setup(policy, 2, owners(load))
        };
        let mut pool = Pool::new(setup, Gaps::measure(Nanos::ZERO, 1));
        pool.run_until(secs(90_000));
        pool.take()
    };
    let longer = run(GuestPolicy::LingerLonger, 0.8);
    assert_eq!(longer.finished, 2);
    assert!(longer.moves <= 1);
    assert!(longer.stay_s <= run(GuestPolicy::LingerForever, 0.8).stay_s);
    assert_eq!(run(GuestPolicy::LingerLonger, 0.001).moves, 0, "a thousandth of 2,700 s is less than 20 s");
}

#[test]
fn memory_that_a_guest_needs_and_the_owner_has_stops_it() {
    let full = Sample { memory: 0.95, ..sample(0, 0.1, true) };
    let owners = replay(vec![vec![full]], HOUR);
    let setup = Setup { memory: 0.1, ..setup(GuestPolicy::LingerForever, 1, owners) };
    assert_eq!(run(setup, 10).1.work_s, 0.0);
}

#[test]
fn the_same_seed_gives_the_same_pool_and_owners_do_not_depend_on_the_policy() {
    let of = |policy, seed| {
        let owners = Owners::Drawn(Arc::new(Statistics::default()));
        run(Setup { seed, ..setup(policy, 30, owners) }, 20).1
    };
    let first = of(GuestPolicy::LingerLonger, 7);
    assert_eq!(first, of(GuestPolicy::LingerLonger, 7));
    assert_ne!(first, of(GuestPolicy::LingerLonger, 8));
    assert!((first.owner_s - of(GuestPolicy::ImmediateEviction, 7).owner_s).abs() < 1e-3);
}

#[test]
fn copies_of_a_trace_begin_elsewhere_and_add_up() {
    let owners = replay(vec![halves(0.5)], HOUR);
    let (_, tally) = run(setup(GuestPolicy::LingerForever, 40, owners), 100);
    assert!((tally.owner_s / tally.node_s - 0.25).abs() < 0.01, "{}", tally.owner_s / tally.node_s);
    assert!((tally.throughput() - 0.75).abs() < 0.01, "{}", tally.throughput());
}
