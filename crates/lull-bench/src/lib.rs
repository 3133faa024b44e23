//! Experiments that show what background work costs the foreground, and what it gets done.
//!
//! The problem: latency under load is noisy, machines drift, and a comparison of two runs made minutes apart
//! says little. So everything here is built around one habit: the contenders of a case are run in turn, in a
//! shuffled order, round after round; ratios are taken to the *same round's* run without background; every
//! raw run is kept; tables and pictures are made from the raw records alone and can be made again.
//!
//! | module | idea |
//! |---|---|
//! | [`load`] | load generators, each a separate process that prints one JSON line |
//! | [`netbed`] | two hosts and a shaped link in network namespaces |
//! | [`slowdisk`] | a disk with seeks and rotation: FUSE file under a loop device |
//! | [`contender`] | the ways to run background work that are compared |
//! | [`experiment`] | the cases of `lull bench disk`, `cpu`, `net`, `memory` and `apps`, run in interleaved rounds |
//! | [`record`] | what one run leaves behind: one line of `raw.jsonl` |
//! | [`compare`] | two record files, figure by figure |
//! | [`stats`], [`study`] | medians, spread and ratios within rounds |
//! | [`report`] | text, markdown, JSON and SVG of a study |
//! | [`demo`] | the show: a reader beside a checksum job, live |
//!
//! The binary embeds [`load::LoadCommand`] as a hidden subcommand: load generators and contenders are started
//! as processes of the binary itself (see [`process::Program`]).

pub mod beats;
pub mod clock;
pub mod compare;
pub mod contender;
pub mod corpus;
pub mod demo;
mod error;
pub mod experiment;
pub mod load;
pub mod netbed;
pub mod process;
pub mod progress;
pub mod record;
pub mod report;
pub mod slowdisk;
pub mod stats;
mod stop;
pub mod study;
pub mod units;

pub use compare::{CompareArgs, run_compare};
pub use demo::{DemoArgs, run_demo};
pub use error::Error;
pub use experiment::apps::{AppsArgs, run_apps};
pub use experiment::cpu::{CpuArgs, run_cpu};
pub use experiment::disk::{DiskArgs, run_disk};
pub use experiment::memory::{MemoryArgs, run_memory};
pub use experiment::net::{NetArgs, run_net};
pub use load::{LoadCommand, run_load};
pub use process::Program;
pub use report::{ReportArgs, run_report};
