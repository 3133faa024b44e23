//! A discrete-event simulator of devices and workloads under the idletime policy.
#![forbid(unsafe_code)]

pub mod advise;
pub mod agenda;
pub mod class;
pub mod compare;
pub mod device;
pub mod figures;
pub mod net;
pub mod policy;
pub mod scenario;
mod sensor;
pub mod span;
mod station;
pub mod theory;
pub mod trace;
pub mod workload;
pub mod world;

pub use class::Class;
pub use station::Tally;
pub use world::{Client, World};
