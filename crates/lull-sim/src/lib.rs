//! A discrete-event simulator of devices and workloads under the idletime policy, the theory of both, and advice for a
//! recorded trace.
//!
//! The policy is that of [`lull_core`]: the same [`Resource`](lull_core::Resource), machine and
//! [`Control`](lull_core::Control) that the live engine runs, no copy. This crate adds what they act on. It has a clock of its own and touches nothing: no
//! file, no thread, no system call; its caller reads and writes.
//!
//! | module | idea |
//! |---|---|
//! | [`agenda`] | events in the order of time |
//! | [`span`] | random spans, all from one seed |
//! | [`device`] | disk, SSD, link, core, ideal server |
//! | [`workload`] | when the next request comes: closed, open, bursty, the paper's load generator, replayed |
//! | [`world`] | a run: stations (a resource and its device), clients, one clock |
//! | [`policy`] | who sets the interval: nobody, `Control`, a window on the counters, a bucket of delay |
//! | [`net`] | the paper's hosts, UDP and TCP |
//! | [`cluster`] | a pool of nodes that have owners, and guests that linger or move |
//! | [`reserve`] | two sites on one server, each with a share: CPU, disk, output link, input |
//! | [`figures`] | the paper's figures and what they claim |
//! | [`compare`] | policies against each other and against every fixed interval |
//! | [`theory`] | delay and work, computed |
//! | [`scenario`] | runs described in TOML |
//! | [`trace`] | traces in the formats that people have, and lull's own recording |
//! | [`advise`] | settings for a recorded foreground |
//!
//! ```
//! use lull_core::{Interval, Nanos, Setting};
//! use lull_sim::device::{Device, Server};
//! use lull_sim::policy::Policy;
//! use lull_sim::span::Span;
//! use lull_sim::workload::Workload;
//! use lull_sim::{Class, Client, World};
//!
//! let ms = Nanos::from_millis;
//! let service = Span::Fixed(ms(20));
//! let device = Device::Server(Server { slots: 1, foreground: service, background: service, drag: 0.0 });
//! let setting = Setting { interval: Interval::Finite(ms(40)), ..Setting::default() };
//! let mut world = World::new(1);
//! let station = world.add_station(device, &Policy::Fixed(setting));
//! for (class, think) in [(Class::Foreground, ms(30)), (Class::Background, ms(0)), (Class::Background, ms(0))] {
//!     let workload = Workload::Closed { think: Span::Fixed(think) };
//!     world.add_client(Client { station, class, workload, bytes: 4_096, work: None, sequential: false });
//! }
//! world.run_until(ms(10_000));
//! assert_eq!(world.tally(station, Class::Foreground).completed, 199, "one each 50 ms: the gaps are shorter than 40 ms");
//! ```
#![forbid(unsafe_code)]

pub mod advise;
pub mod agenda;
pub mod class;
pub mod cluster;
pub mod compare;
pub mod device;
pub mod figures;
pub mod net;
pub mod policy;
pub mod reserve;
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
