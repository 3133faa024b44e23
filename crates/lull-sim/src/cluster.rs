//! A pool of nodes that have owners, and guests that want their CPUs.
//!
//! Problem: batch systems evict or suspend a guest when the owner returns. Linger-Longer (Ryu, Hollingsworth & Keleher, ICS 1999) keeps it in
//! the gaps of the owner's work. What does that bring, and what does it cost the owner? The policies are those of
//! [`lull_core::linger`]; here is what they act on.
//!
//! Approach: two levels, as its authors do. *Bursts* of tens of milliseconds are simulated for one node at each load ([`bursts`]); what
//! a guest gets of that load, and what it costs the owner, goes into a table. The *pool* ([`pool`]) is simulated by episodes (the owner comes,
//! works with a load that changes each half minute, leaves) and looks that table up: a node-week is some ten thousand events instead of ten
//! million.
//!
//! | module | idea |
//! |---|---|
//! | [`owner`] | when owners are at work, with which load: drawn from statistics, or replayed from a trace |
//! | [`bursts`] | what a guest gets beside a load, and what switching costs the owner |
//! | [`pool`] | nodes, guests, queue, one clock |
//! | [`study`] | policies beside each other |
//! | [`estimate`] | means with their 95% intervals |
//! | [`parallel`] | a guest of four processes on nodes of which some are in use |
//! | [`trace`] | CSV, and what HTCondor's tools print |
//! | [`plot`] | pictures |
//!
//! Units: shares and loads are from 0 to 1 of one CPU; a node has one. Work is seconds on a CPU of one's own. Not modelled: memory but for
//! whether a guest fits (traces tell), what a checkpoint costs the owner, failures of nodes.

pub mod bursts;
pub mod estimate;
pub mod owner;
pub mod parallel;
mod places;
pub mod plot;
pub mod pool;
pub mod study;
pub mod trace;

pub use estimate::Estimate;
pub use owner::{Owners, Statistics};
pub use pool::{Pool, Setup, Tally};
