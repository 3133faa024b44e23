//! The fluid model: every busy queue is served all the time, each at its rate.
//!
//! ```text
//!              ┌── 50 ──▶ site A ─┬─ 1 ─▶ client        rate of a node = rate of its parent
//!   whole ─────┤                  └─ 1 ─▶ client                         × weight / weights of the parent's busy children
//!              └── 49 ──▶ site B ─── 1 ─▶ client        idle: none of its queues has anything left
//! ```
//!
//! Between two events (an arrival, a queue that empties) all rates are constant, so the model goes from event to event. It cannot be
//! built, since devices serve whole requests; it is what the schedulers beside it are measured against, in their tests. Hierarchical: a flat system is a root with queues.
//!
//! Units: service in units of the resource, as `f64`; time in seconds, with a rate of units per second. Source: Parekh and Gallager, 1993;
//! for the tree Bennett and Zhang, *Hierarchical Packet Fair Queueing Algorithms*, SIGCOMM 1996, section 2 (H-GPS).

/// A node of the tree; 0 is the root.
pub(crate) type Node = usize;

#[derive(Clone, Debug)]
struct Branch {
    parent: Option<Node>,
    weight: f64,
    children: Vec<Node>,
    /// What came and was not served yet; of the queues below, for an inner node.
    left: f64,
    served: f64,
    rate: f64,
}

/// Less than this is nothing: what is left of a request after many small steps.
const NOTHING: f64 = 1e-6;

/// The fluid system.
#[derive(Clone, Debug)]
pub(crate) struct Gps {
    capacity: f64,
    nodes: Vec<Branch>,
    now_s: f64,
}

impl Gps {
    /// Nothing but a root that serves `capacity` units per second.
    pub(crate) fn new(capacity: f64) -> Self {
        let root =
            Branch { parent: None, weight: 1.0, children: Vec::new(), left: 0.0, served: 0.0, rate: 0.0 };
        Self { capacity, nodes: vec![root], now_s: 0.0 }
    }

    /// A child of `parent`.
    pub(crate) fn add(&mut self, parent: Node, weight: f64) -> Node {
        let node = self.nodes.len();
        self.nodes.push(Branch {
            parent: Some(parent),
            weight,
            children: Vec::new(),
            left: 0.0,
            served: 0.0,
            rate: 0.0,
        });
        self.nodes[parent].children.push(node);
        node
    }

    /// `amount` comes to a queue now.
    pub(crate) fn arrive(&mut self, queue: Node, amount: f64) {
        self.each_above(queue, |branch| branch.left += amount);
    }

    /// What a node has got so far.
    pub(crate) fn served(&self, node: Node) -> f64 {
        self.nodes[node].served
    }

    /// What still waits below a node.
    pub(crate) fn left(&self, node: Node) -> f64 {
        self.nodes[node].left
    }

    /// Serves until `at_s`.
    pub(crate) fn advance(&mut self, at_s: f64) {
        while self.now_s < at_s {
            self.set_rates();
            let queues =
                || self.nodes.iter().filter(|branch| branch.children.is_empty() && branch.rate > 0.0);
            let next_s = queues().map(|queue| queue.left / queue.rate).fold(f64::INFINITY, f64::min);
            let span_s = next_s.min(at_s - self.now_s);
            for queue in 0..self.nodes.len() {
                if self.nodes[queue].children.is_empty() && self.nodes[queue].rate > 0.0 {
                    let branch = &self.nodes[queue];
                    let given = (branch.rate * span_s).min(branch.left);
                    // A rest that is less than nothing would take steps without end.
                    let rest = if branch.left - given < NOTHING { branch.left } else { given };
                    self.each_above(queue, |branch| {
                        branch.left = (branch.left - rest).max(0.0);
                        branch.served += rest;
                    });
                }
            }
            self.now_s = if next_s.is_finite() { self.now_s + span_s } else { at_s };
        }
    }

    fn each_above(&mut self, node: Node, mut change: impl FnMut(&mut Branch)) {
        let mut at = Some(node);
        while let Some(node) = at {
            change(&mut self.nodes[node]);
            at = self.nodes[node].parent;
        }
    }

    fn is_busy(&self, node: Node) -> bool {
        self.nodes[node].left > NOTHING
    }

    /// A parent comes before its children.
    fn set_rates(&mut self) {
        for node in 0..self.nodes.len() {
            let branch = &self.nodes[node];
            let rate = match branch.parent {
                _ if !self.is_busy(node) => 0.0,
                None => self.capacity,
                Some(parent) => {
                    let busy = self.nodes[parent].children.iter().filter(|child| self.is_busy(**child));
                    let weights: f64 = busy.map(|child| self.nodes[*child].weight).sum();
                    self.nodes[parent].rate * branch.weight / weights
                }
            };
            self.nodes[node].rate = rate;
        }
    }

    /// Panics unless all that must hold does hold.
    ///
    /// # Panics
    /// When an invariant is broken: that is a bug in this crate.
    pub(crate) fn check_invariants(&self) {
        for (node, branch) in self.nodes.iter().enumerate() {
            assert!(branch.left >= 0.0 && branch.served >= 0.0, "nothing is less than nothing");
            if !branch.children.is_empty() {
                let sum = |of: fn(&Branch) -> f64| -> f64 {
                    branch.children.iter().map(|child| of(&self.nodes[*child])).sum()
                };
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0);
                assert!(close(branch.left, sum(|child| child.left)), "what waits below {node} adds up");
                assert!(close(branch.served, sum(|child| child.served)), "what {node} got adds up");
            }
        }
    }
}

#[cfg(test)]
mod tests;
