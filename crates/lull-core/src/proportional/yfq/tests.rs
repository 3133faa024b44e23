use proptest::prelude::*;

use super::super::tests::gps::Gps;
use super::*;

const LONGEST: u64 = 1_000;

fn batch(requests: u32) -> NonZero<u32> {
    NonZero::new(requests).unwrap()
}

fn queues(weights: &[u32], size: u32, batching: Batching) -> Yfq<u32> {
    let mut yfq = Yfq::new(batch(size), batching);
    for (at, weight) in weights.iter().enumerate() {
        yfq.set(id(at), Weight::new(*weight));
    }
    yfq
}

fn id(at: usize) -> QueueId {
    QueueId(u32::try_from(at).unwrap())
}

fn order(yfq: &mut Yfq<u32>) -> Vec<u32> {
    let mut order = Vec::new();
    while let Some(selected) = yfq.select() {
        order.push(selected.request);
        yfq.complete(selected.service);
    }
    order
}

#[test]
fn the_smallest_finish_tag_is_served_first() {
    let mut yfq = queues(&[2, 1], 1, Batching::Whole);
    for (queue, request) in [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5)] {
        yfq.arrive(id(queue), 100, request).unwrap();
    }
    // F: 50, 100, 150 and 100, 200; of equals the first queue.
    assert_eq!(order(&mut yfq), [1, 2, 4, 3, 5]);
}

#[test]
fn after_idling_nobody_has_saved_anything_up() {
    let mut yfq = queues(&[1, 1], 1, Batching::Whole);
    for request in 0..5 {
        yfq.arrive(id(0), 100, request).unwrap();
    }
    order(&mut yfq);
    assert_eq!(yfq.virtual_work(), Virtual::of(500, Weight::new(1)), "the largest finish tag");
    yfq.arrive(id(1), 100, 10).unwrap();
    yfq.arrive(id(1), 100, 11).unwrap();
    yfq.arrive(id(0), 100, 12).unwrap();
    assert_eq!(order(&mut yfq), [12, 10, 11], "both begin at the same virtual work");
}

#[test]
fn a_whole_batch_is_done_before_the_next_one_begins() {
    for (batching, more) in [(Batching::Whole, false), (Batching::Rolling, true)] {
        let mut yfq = queues(&[1], 2, batching);
        for request in 0..4 {
            yfq.arrive(id(0), 10, request).unwrap();
        }
        let (first, second) = (yfq.select().unwrap(), yfq.select().unwrap());
        assert_eq!(yfq.select(), None, "two are a batch");
        assert!(yfq.complete(first.service));
        assert!(!yfq.complete(first.service), "once");
        assert_eq!(yfq.select().is_some(), more, "{batching:?}");
        yfq.complete(second.service);
        assert!(yfq.select().is_some());
    }
}

#[test]
fn a_batch_that_is_not_full_does_not_wait_for_more() {
    let mut yfq = queues(&[1], 4, Batching::Whole);
    yfq.arrive(id(0), 10, 1).unwrap();
    let first = yfq.select().unwrap();
    assert_eq!(yfq.select(), None);
    yfq.arrive(id(0), 10, 2).unwrap();
    assert_eq!(yfq.select(), None, "the batch was closed without it");
    yfq.complete(first.service);
    assert!(yfq.select().is_some());
}

#[test]
fn a_queue_that_goes_gives_back_what_waits_in_it() {
    let mut yfq = queues(&[1, 1], 1, Batching::Whole);
    for request in 0..3 {
        yfq.arrive(id(0), 10, request).unwrap();
    }
    let served = yfq.select().unwrap();
    assert_eq!(yfq.remove(id(0)), [1, 2]);
    assert_eq!(yfq.arrive(id(0), 10, 7), Err(7));
    assert_eq!(yfq.select(), None, "its request is still in service");
    assert!(yfq.complete(served.service));
    yfq.arrive(id(1), 10, 8).unwrap();
    yfq.forget(|request| *request == 8);
    assert_eq!((yfq.select(), yfq.busy().count()), (None, 0));
    yfq.check_invariants(LONGEST);
}

/// Arrivals (queue, length, work done until the next one).
fn arrivals() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
    proptest::collection::vec((0_usize..4, 1..=LONGEST, 0_u64..1_500), 1..250)
}

/// One disk, a byte at a time unit, and the fluid model beside it.
struct Bench {
    yfq: Yfq<u32>,
    weights: Vec<u32>,
    in_service: Vec<(Selected<u32>, u64)>,
}

impl Bench {
    fn new(weights: &[u32], size: u32, batching: Batching) -> Self {
        Self { yfq: queues(weights, size, batching), weights: weights.to_vec(), in_service: Vec::new() }
    }

    fn select(&mut self) {
        while let Some(selected) = self.yfq.select() {
            let bytes = selected.bytes;
            // The disk's own order: the shortest first.
            self.in_service.push((selected, bytes));
            self.in_service.sort_by_key(|(_, left)| *left);
        }
    }

    /// Returns the idle rest of `span`.
    fn serve(&mut self, mut span: u64) -> u64 {
        self.select();
        while let Some((_, left)) = self.in_service.first_mut().filter(|_| span > 0) {
            let part = span.min(*left);
            (*left, span) = (*left - part, span - part);
            if *left == 0 {
                let (selected, _) = self.in_service.remove(0);
                self.yfq.complete(selected.service);
                self.select();
            }
            self.yfq.check_invariants(LONGEST);
        }
        span
    }

    fn served(&self, at: usize) -> f64 {
        self.yfq.served(id(at)).1 as f64
    }

    /// `2 D`.
    fn bound(&self) -> f64 {
        2.0 * LONGEST as f64 / f64::from(*self.weights.iter().min().unwrap())
    }

    fn waits(&self, at: usize) -> bool {
        self.yfq.backlog(id(at)).0 > 0
    }
}

fn setups() -> impl Strategy<Value = (Vec<u32>, u32, Batching)> {
    let batching = prop_oneof![Just(Batching::Whole), Just(Batching::Rolling)];
    (proptest::collection::vec(1_u32..20, 4), 1_u32..6, batching)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Over every span in which both have waiting requests, two queues differ by two requests per weight at most, and each has
    /// its share of all that was selected, but for two requests.
    #[test]
    fn busy_queues_are_fair_to_each_other((weights, size, batching) in setups(), arrivals in arrivals()) {
        let mut bench = Bench::new(&weights, size, batching);
        let all: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        // Since when each pair has been busy, with what each had then; and all.
        let mut since = vec![vec![None; 4]; 4];
        for (queue, bytes, span) in arrivals {
            bench.yfq.arrive(id(queue), bytes, 0).unwrap();
            // In small steps, so that no emptying is missed.
            for _ in 0..span {
                for (a, of_a) in since.iter_mut().enumerate() {
                    for (b, begun) in of_a.iter_mut().enumerate() {
                        if !(bench.waits(a) && bench.waits(b)) {
                            *begun = None;
                            continue;
                        }
                        let total: f64 = (0..4).map(|at| bench.served(at)).sum();
                        let (got_a, got_b, got) =
                            *begun.get_or_insert((bench.served(a), bench.served(b), total));
                        let weight = |at: usize| f64::from(weights[at]);
                        let (of_a, of_b) = (bench.served(a) - got_a, bench.served(b) - got_b);
                        let apart = (of_a / weight(a) - of_b / weight(b)).abs();
                        prop_assert!(apart <= bench.bound() + 1e-6, "{a} and {b} are {apart} apart");
                        let owed = (total - got) * weight(a) / all - bench.bound() * weight(a);
                        prop_assert!(of_a >= owed - 1e-6, "{a} got {of_a} of {owed}");
                    }
                }
                bench.serve(1);
            }
        }
    }

    /// Against the fluid model, with any set of queues busy from the beginning.
    #[test]
    fn a_busy_queue_follows_the_fluid_model(
        (weights, size, batching) in setups(),
        lengths in proptest::collection::vec(1..=LONGEST, 400),
        mask in 1_usize..16,
    ) {
        let mut bench = Bench::new(&weights, size, batching);
        let mut gps = Gps::new(1.0);
        let nodes: Vec<_> = weights.iter().map(|weight| gps.add(0, f64::from(*weight))).collect();
        let busy: Vec<usize> = (0..4).filter(|at| mask & 1 << at != 0).collect();
        for (at, bytes) in lengths.iter().enumerate() {
            let queue = busy[at % busy.len()];
            bench.yfq.arrive(id(queue), *bytes, 0).unwrap();
            gps.arrive(nodes[queue], *bytes as f64);
        }
        for step in 1..2_000_u32 {
            bench.serve(17);
            gps.advance(f64::from(step * 17));
            if !busy.iter().all(|at| bench.waits(*at)) {
                break;
            }
            for at in &busy {
                let apart = (bench.served(*at) - gps.served(nodes[*at])).abs();
                let weight = f64::from(weights[*at]);
                let most = bench.bound() * weight + f64::from(size) * LONGEST as f64;
                prop_assert!(apart <= most, "{at} is {apart} from the model, more than {most}");
            }
        }
    }

    /// Work conserving, nothing is lost, and each queue keeps its order.
    #[test]
    fn the_disk_is_never_idle_while_a_request_waits((weights, size, batching) in setups(), arrivals in arrivals()) {
        let mut bench = Bench::new(&weights, size, batching);
        let mut waits = 0;
        for (queue, bytes, span) in arrivals {
            bench.yfq.arrive(id(queue), bytes, 0).unwrap();
            waits += bytes;
            let idle = bench.serve(span);
            prop_assert_eq!(idle, span.saturating_sub(waits));
            waits = waits.saturating_sub(span);
        }
        bench.serve(u64::MAX);
        prop_assert_eq!((bench.yfq.in_service(), bench.yfq.busy().count()), (0, 0));
    }

    #[test]
    fn a_queue_is_first_in_first_out(
        (weights, size, batching) in setups(),
        into in proptest::collection::vec(0_usize..4, 1..100),
    ) {
        let mut yfq = queues(&weights, size, batching);
        for (number, queue) in into.iter().enumerate() {
            yfq.arrive(id(*queue), 10, u32::try_from(number).unwrap()).unwrap();
        }
        let order = order(&mut yfq);
        prop_assert_eq!(order.len(), into.len());
        for queue in 0..4 {
            let mine: Vec<u32> = order.iter().copied().filter(|n| into[*n as usize] == queue).collect();
            prop_assert!(mine.is_sorted());
        }
    }
}
