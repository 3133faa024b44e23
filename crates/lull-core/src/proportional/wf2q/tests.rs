use proptest::prelude::*;

use super::super::tests::gps::Gps;
use super::*;

const LONGEST: u64 = 1_500;

#[test]
fn a_heavy_queue_does_not_burst_ahead_of_its_time() {
    // The example of the paper: one queue of weight 10 and ten of weight 1, eleven packets in the first. Plain weighted
    // fair queueing sends ten of them in a row.
    let mut link = Wf2q::default();
    let heavy = link.add(Wf2q::<u32>::ROOT, Weight::new(10));
    let light: Vec<_> = (0..10).map(|_| link.add(Wf2q::<u32>::ROOT, Weight::new(1))).collect();
    (0..11).for_each(|packet| link.arrive(heavy, 100, packet));
    light.iter().for_each(|queue| link.arrive(*queue, 100, 99));
    let mut order = Vec::new();
    while let Some((queue, _, _)) = link.send() {
        order.push(queue == heavy);
        link.sent();
        link.check_invariants();
    }
    assert_eq!(order.iter().filter(|is_heavy| **is_heavy).count(), 11);
    let alternates = order[..20].windows(2).all(|pair| pair[0] != pair[1]);
    assert!(alternates, "{order:?}");
}

#[test]
fn one_packet_is_sent_at_a_time() {
    let mut link = Wf2q::default();
    let queue = link.add(Wf2q::<u32>::ROOT, Weight::new(1));
    link.arrive(queue, 10, 1);
    link.arrive(queue, 10, 2);
    assert_eq!(link.send(), Some((queue, 10, 1)));
    assert_eq!(link.send(), None);
    link.sent();
    link.sent();
    assert_eq!((link.sent_bytes(queue), link.waiting(queue)), (10, 1));
    assert_eq!(link.send(), Some((queue, 10, 2)));
}

/// A link of one byte per time unit with two classes of two queues each, or four queues, and the fluid model beside it.
struct Bench {
    link: Wf2q<u32>,
    gps: Gps,
    queues: Vec<(Node, usize)>,
    /// The two classes, in a tree.
    classes: Vec<Node>,
    weights: Vec<f64>,
    /// The packet on the link: what is left of it, its length, its queue.
    left: u64,
    on_link: (u64, usize),
    now: u64,
}

impl Bench {
    fn new(weights: &[u32], tree: bool) -> Self {
        let (mut link, mut gps) = (Wf2q::default(), Gps::new(1.0));
        let mut both = |parent: (Node, usize), weight: u32| {
            (link.add(parent.0, Weight::new(weight)), gps.add(parent.1, f64::from(weight)))
        };
        let root = (Node(ROOT), 0);
        let (mut queues, mut classes) = (Vec::new(), Vec::new());
        if tree {
            for pair in 0..2 {
                let class = both(root, weights[4 + pair]);
                classes.push(class.0);
                queues.extend((0..2).map(|at| both(class, weights[pair * 2 + at])));
            }
        } else {
            queues.extend((0..4).map(|at| both(root, weights[at])));
        }
        let weights = weights.iter().map(|weight| f64::from(*weight)).collect();
        Self { link, gps, queues, classes, weights, left: 0, on_link: (0, 0), now: 0 }
    }

    fn arrive(&mut self, queue: usize, bytes: u64) {
        let (node, model) = self.queues[queue];
        self.link.arrive(node, bytes, 0);
        self.gps.arrive(model, bytes as f64);
    }

    /// One time unit. Returns the queue whose packet begins, and whether the link was busy.
    fn step(&mut self) -> (Option<usize>, bool) {
        let mut begun = None;
        if self.left == 0
            && let Some((node, bytes, _)) = self.link.send()
        {
            self.left = bytes;
            begun = self.queues.iter().position(|(queue, _)| *queue == node);
            self.on_link = (bytes, begun.unwrap());
        }
        let busy = self.left > 0;
        self.now += 1;
        self.gps.advance(self.now as f64);
        if busy {
            self.left -= 1;
            if self.left == 0 {
                self.link.sent();
                self.link.check_invariants();
            }
        }
        (begun, busy)
    }

    fn sent(&self, queue: usize) -> f64 {
        self.link.sent_bytes(self.queues[queue].0) as f64
    }

    /// With what has left of the packet on the link.
    fn sent_so_far(&self, queue: usize) -> f64 {
        let (bytes, on_link) = self.on_link;
        let part = if on_link == queue && self.left > 0 { bytes - self.left } else { 0 };
        self.sent(queue) + part as f64
    }

    fn is_busy(&self, queue: usize) -> bool {
        self.link.nodes[self.queues[queue].0.0].head.is_some()
    }

    /// Part of its parent, and of the link.
    fn part(&self, queue: usize, tree: bool) -> (f64, f64) {
        if !tree {
            let part = self.weights[queue] / self.weights[..4].iter().sum::<f64>();
            return (part, part);
        }
        let pair = queue / 2;
        let inner = self.weights[queue] / (self.weights[pair * 2] + self.weights[pair * 2 + 1]);
        (inner, inner * self.weights[4 + pair] / (self.weights[4] + self.weights[5]))
    }
}

fn arrivals() -> impl Strategy<Value = Vec<(usize, u64, u64)>> {
    proptest::collection::vec((0_usize..4, 40..=LONGEST, 0_u64..2_000), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Worst-case fairness: over every span in which a queue is busy it gets its part of the link but for `α`.
    #[test]
    fn a_busy_queue_is_never_far_behind(
        weights in proptest::collection::vec(1_u32..20, 6),
        tree in any::<bool>(),
        arrivals in arrivals(),
    ) {
        let mut bench = Bench::new(&weights, tree);
        // The least that a busy queue has been behind since it became busy.
        let mut best = [None; 4];
        for (queue, bytes, span) in arrivals {
            bench.arrive(queue, bytes);
            for _ in 0..span {
                bench.step();
                let total = bench.link.sent_bytes(Node(ROOT)) as f64;
                for (queue, best) in best.iter_mut().enumerate() {
                    if bench.left != 0 {
                        continue;
                    }
                    if !bench.is_busy(queue) {
                        *best = None;
                        continue;
                    }
                    let (inner, part) = bench.part(queue, tree);
                    let behind = part * total - bench.sent(queue);
                    let least: f64 = best.map_or(behind, |least: f64| least.min(behind));
                    *best = Some(least);
                    // With all packets as long as the longest, α is one packet per level, times the part below.
                    let alpha = if tree { LONGEST as f64 * (1.0 + inner) } else { LONGEST as f64 };
                    prop_assert!(behind - least <= alpha + 1.0, "{queue} fell {} behind", behind - least);
                }
            }
        }
    }

    /// Where queues come and go, no packet is sent more than one longest packet before the fluid model would have begun it.
    #[test]
    fn no_packet_is_far_ahead_of_the_fluid_model(
        weights in proptest::collection::vec(1_u32..20, 6),
        arrivals in arrivals(),
    ) {
        let mut bench = Bench::new(&weights, false);
        for (queue, bytes, span) in arrivals {
            bench.arrive(queue, bytes);
            for _ in 0..span {
                let before = [0, 1, 2, 3].map(|queue| (bench.sent(queue), bench.gps.served(bench.queues[queue].1)));
                if let (Some(queue), _) = bench.step() {
                    let (sent, fluid) = before[queue];
                    prop_assert!(fluid >= sent - LONGEST as f64, "{queue} had {sent}, in the model {fluid}");
                }
            }
        }
    }

    /// Work conserving, in a tree as well.
    #[test]
    fn the_link_is_never_idle_while_a_packet_waits(
        weights in proptest::collection::vec(1_u32..20, 6),
        tree in any::<bool>(),
        arrivals in arrivals(),
    ) {
        let mut bench = Bench::new(&weights, tree);
        let mut waits = 0_u64;
        for (queue, bytes, span) in arrivals {
            bench.arrive(queue, bytes);
            waits += bytes;
            for _ in 0..span {
                let (_, busy) = bench.step();
                prop_assert_eq!(busy, waits > 0);
                waits = waits.saturating_sub(1);
            }
            // Both systems have done the same work, whoever it was for.
            prop_assert!((bench.gps.left(0) - waits as f64).abs() < 1.0);
        }
    }

    /// With all queues busy each has what the fluid model gives, but for a packet ahead or behind per level.
    #[test]
    fn busy_queues_follow_the_fluid_model(
        weights in proptest::collection::vec(1_u32..20, 6),
        tree in any::<bool>(),
        lengths in proptest::collection::vec(40..=LONGEST, 200),
    ) {
        let mut bench = Bench::new(&weights, tree);
        for (at, bytes) in lengths.iter().enumerate() {
            bench.arrive(at % 4, *bytes);
        }
        let levels = if tree { 2.0 } else { 1.0 };
        while (0..4).all(|queue| bench.link.waiting(bench.queues[queue].0) > 0) {
            let before = [0, 1, 2, 3].map(|queue| bench.sent(queue) - bench.gps.served(bench.queues[queue].1));
            if let (Some(queue), _) = bench.step()
                && !tree
            {
                prop_assert!(before[queue] <= 1e-3, "{queue} starts {} early: it was not eligible", before[queue]);
            }
            for queue in 0..4 {
                let apart = bench.sent_so_far(queue) - bench.gps.served(bench.queues[queue].1);
                prop_assert!(apart.abs() <= levels * LONGEST as f64 + 1.0, "{queue} is {apart} ahead");
            }
        }
        prop_assert_eq!(bench.classes.len(), if tree { 2 } else { 0 });
    }
}
