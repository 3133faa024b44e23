//! Sensors: what they see becomes a [`lull_core::Observation`].
//!
//! The exact sensor is a set of BPF programs on block events, in its own crate. The one here needs no rights at all.
//! [`machine`] tells whether anybody else computes, [`memory`] how much memory is free for others, [`processes`] what some processes
//! have used, [`tenants`] who uses a node of a batch system, [`pressure`] how long somebody waited, [`forks`] which processes come and go,
//! [`locks`] who waits for a lock, [`freezers`] who freezes.

pub mod fallback;
pub mod forks;
pub mod freezers;
pub mod locks;
pub mod machine;
pub mod memory;
pub mod pressure;
pub mod processes;
pub mod tenants;
