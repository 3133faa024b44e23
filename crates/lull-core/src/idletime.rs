//! Idletime scheduling of one resource: when background may start, and how much of it.
//!
//! ```text
//!  Observation ──▶ derive ──▶ State ──▶ Resource ──▶ what may start now, and when to ask again
//!  (base::view)    I F B P   (machine)     ▲
//!                                      Setting: interval, window, depth
//! ```
//!
//! [`Resource`](resource::Resource) has the requests that wait and those in service. [`Setting`](setting::Setting) is what it keeps to
//! at one moment; who finds it is the affair of each resource ([`crate::disk`], [`crate::network`]). [`Hold`](hold::Hold) is the same
//! for what no request shows: it stops the whole job.

pub mod derive;
pub mod hold;
pub mod machine;
pub mod resource;
pub mod setting;
