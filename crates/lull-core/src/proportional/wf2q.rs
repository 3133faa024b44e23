//! Hierarchical worst-case fair weighted fair queueing (H-WF²Q): an output link among queues of packets, in a tree.
//!
//! Problem: the plain approximation of the fluid model (serve whoever would finish first) may send many packets of a queue ahead of
//! their time and then none for long; in a tree such bursts add up from level to level. Approach: a packet is *eligible* only once it
//! would have started under the fluid model; of the eligible ones the one that would finish first is sent.
//!
//! Each node of the tree is such a server for its children. An inner node has one packet to offer, its *head*: that of the child
//! which it selected.
//!
//! ```text
//!                 root   V
//!               ┌──┴──────────┐      S, F of each child, in its parent's virtual time
//!             site A  V     site B
//!           ┌───┴───┐         │      head of A = head of the eligible child of A with the smallest F
//!         client  client    client
//! ```
//!
//! *Virtual time* (WF²Q+): with `w` the weights of all children, a node's `V` grows by `L / w` while it sends `L`, and never lies behind the
//! smallest start tag of the children that have a head, so that somebody is always eligible:
//!
//! ```text
//!   V := max(V, min S)                          before it selects: eligible are S <= V; smallest F first
//!   V := V + L / w                              while the head, of length L, is sent
//!   S := max(F, V of the parent)  or  S := F    when the child had no head, or had one; F := S + L / weight
//! ```
//!
//! While all children are busy this is the fluid model's own virtual time, and a packet is eligible exactly when it would have started
//! there. While some are idle the fluid model's runs faster; to follow it takes work for each child that comes or goes, so `V` catches up by
//! jumps instead, and a packet starts at most one longest packet before it would have (`tests.rs` checks both against `gps.rs`).
//!
//! *Worst-case fairness.* Over any span in which child `i` has a head, with `W` what its parent sent and `p = weight / w`,
//!
//! ```text
//!   W_i  >=  p W  -  α_i          α_i = L_i + (L - L_i) p          L: longest packets, of i and of all
//! ```
//!
//! and in a tree a queue's `α` is the sum over the levels above it of what the level misses, times the queue's part of that level.
//!
//! Edge cases: a packet that is being sent keeps its place until [`Wf2q::sent`]; a weight that changes counts from the next packet on.
//! Units: bytes. Source: R-12; Bennett and Zhang, *Hierarchical Packet Fair Queueing Algorithms*, SIGCOMM 1996 (WF²Q+, H-PFQ).

use std::collections::VecDeque;

use super::{Virtual, Weight};

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(usize);

#[derive(Clone, Debug)]
struct Branch<T> {
    parent: Option<usize>,
    weight: Weight,
    start: Virtual,
    finish: Virtual,
    /// Of the children.
    now: Virtual,
    children: Vec<usize>,
    /// The length of the packet on offer, and whose child's it is.
    head: Option<(u64, usize)>,
    waiting: VecDeque<(u64, T)>,
    sent_bytes: u64,
}

/// The scheduler of one link.
#[derive(Clone, Debug)]
pub struct Wf2q<T> {
    nodes: Vec<Branch<T>>,
    /// The queue whose packet is being sent.
    sending: Option<usize>,
}

const ROOT: usize = 0;

impl<T> Default for Wf2q<T> {
    fn default() -> Self {
        let mut scheduler = Self { nodes: Vec::new(), sending: None };
        scheduler.push(None, Weight::LEAST);
        scheduler
    }
}

impl<T> Wf2q<T> {
    /// The whole link.
    pub const ROOT: Node = Node(ROOT);

    fn push(&mut self, parent: Option<usize>, weight: Weight) -> usize {
        self.nodes.push(Branch {
            parent,
            weight,
            start: Virtual::ZERO,
            finish: Virtual::ZERO,
            now: Virtual::ZERO,
            children: Vec::new(),
            head: None,
            waiting: VecDeque::new(),
            sent_bytes: 0,
        });
        self.nodes.len() - 1
    }

    /// A child of `parent`, which divides what it gets if it has children, and is a queue if it has none.
    pub fn add(&mut self, parent: Node, weight: Weight) -> Node {
        let node = self.push(Some(parent.0), weight);
        self.nodes[parent.0].children.push(node);
        Node(node)
    }

    /// A packet comes to a queue.
    pub fn arrive(&mut self, queue: Node, bytes: u64, packet: T) {
        let queue = queue.0;
        self.nodes[queue].waiting.push_back((bytes, packet));
        if self.nodes[queue].head.is_none() {
            self.offer(queue, bytes, queue, false);
            self.ask_upwards(queue);
        }
    }

    /// Nodes above that have nothing on offer select again.
    fn ask_upwards(&mut self, from: usize) {
        let mut at = self.nodes[from].parent;
        // The whole link selects when it sends, so that packets of one moment compete.
        while let Some(node) = at.filter(|node| *node != ROOT && self.nodes[*node].head.is_none()) {
            self.select(node, false);
            at = self.nodes[node].parent;
        }
    }

    /// `node` has a packet for its parent; `goes_on`: it had one until now.
    fn offer(&mut self, node: usize, bytes: u64, child: usize, goes_on: bool) {
        let now = self.nodes[node].parent.map(|parent| self.nodes[parent].now);
        let branch = &mut self.nodes[node];
        branch.head = Some((bytes, child));
        branch.start = match now {
            Some(now) if !goes_on => branch.finish.max(now),
            _ => branch.finish,
        };
        branch.finish = branch.start.plus(Virtual::of(bytes, branch.weight));
    }

    /// An inner node without a head chooses among its children.
    fn select(&mut self, node: usize, goes_on: bool) {
        let branch = &self.nodes[node];
        let weights = branch.children.iter().map(|child| u64::from(self.nodes[*child].weight.parts())).sum();
        let heads = || branch.children.iter().filter(|child| self.nodes[**child].head.is_some());
        let Some(first) = heads().map(|child| self.nodes[*child].start).min() else { return };
        let now = branch.now.max(first);
        let eligible = heads().filter(|child| self.nodes[**child].start <= now);
        let chosen = eligible.copied().min_by_key(|child| self.nodes[*child].finish);
        if let Some(chosen) = chosen
            && let Some((bytes, _)) = self.nodes[chosen].head
        {
            self.nodes[node].now = now.plus(Virtual::per(bytes, weights));
            self.offer(node, bytes, chosen, goes_on);
        }
    }

    /// Begins to send: the next packet and its queue. Nothing while one is being sent.
    pub fn send(&mut self) -> Option<(Node, u64, T)> {
        if self.sending.is_some() {
            return None;
        }
        self.select(ROOT, true);
        let mut at = ROOT;
        while let Some((_, child)) = self.nodes[at].head.filter(|(_, child)| *child != at) {
            at = child;
        }
        let (bytes, packet) = self.nodes[at].waiting.pop_front()?;
        self.sending = Some(at);
        Some((Node(at), bytes, packet))
    }

    /// The packet that [`Self::send`] gave is sent.
    pub fn sent(&mut self) {
        let Some(queue) = self.sending.take() else { return };
        let bytes = self.nodes[queue].head.map_or(0, |(bytes, _)| bytes);
        let mut at = Some(queue);
        while let Some(node) = at {
            let branch = &mut self.nodes[node];
            (branch.head, branch.sent_bytes) = (None, branch.sent_bytes + bytes);
            if node == queue {
                if let Some((following, _)) = branch.waiting.front() {
                    let following = *following;
                    self.offer(node, following, node, true);
                }
            } else if node != ROOT {
                self.select(node, true);
            }
            at = self.nodes[node].parent;
        }
    }

    /// Bytes sent below a node.
    pub fn sent_bytes(&self, node: Node) -> u64 {
        self.nodes[node.0].sent_bytes
    }

    /// Packets that wait in a queue.
    pub fn waiting(&self, queue: Node) -> usize {
        self.nodes[queue.0].waiting.len()
    }

    /// Panics unless all that must hold does hold.
    ///
    /// # Panics
    /// When an invariant is broken: that is a bug in this crate.
    pub fn check_invariants(&self) {
        for (at, node) in self.nodes.iter().enumerate() {
            let has_children = !node.children.is_empty();
            assert!(!has_children || node.waiting.is_empty(), "packets wait in queues, not in node {at}");
            if has_children {
                let offered = node.children.iter().any(|child| self.nodes[*child].head.is_some());
                let offers = if at == ROOT { offered && self.sending.is_some() } else { offered };
                assert_eq!(node.head.is_some(), offers, "node {at} offers what its children do");
                let sum: u64 = node.children.iter().map(|child| self.nodes[*child].sent_bytes).sum();
                assert_eq!(node.sent_bytes, sum, "what node {at} sent adds up");
            } else {
                let holds = !node.waiting.is_empty() || self.sending == Some(at);
                assert_eq!(node.head.is_some(), holds, "queue {at} offers its first packet");
            }
            assert!(node.finish >= node.start, "node {at} finishes after it starts");
        }
    }
}

#[cfg(test)]
mod tests;
