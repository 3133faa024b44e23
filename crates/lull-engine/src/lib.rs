//! The engine of lull: resources that are lent to a job in the gaps that the foreground leaves, under one promise.
//!
//! | module | idea |
//! |---|---|
//! | [`engine`] | all resources, and whether the job is held |
//! | [`resource`] | what a resource is to the engine |
//! | [`disk`], [`cpu`], [`memory`], [`net`] | one resource each |
//! | [`regulator`] | the policies that hold the whole job: smart, manners |
//! | [`promise`] | what the foreground may lose, divided among all |
//! | [`request_gate`], [`hold_gate`] | the job's trapped calls; the whole job |
//! | [`job_processes`], [`reader`] | the job's processes; reading ahead for them |
//! | [`report`] | what is told of a run |
//! | [`nudge`], [`thread`], [`priority`], [`lock`] | threads: waking them, starting them, their weight, what they share |
//!
//! Whoever runs a job makes an [`engine::Engine`], registers the resources that are wanted, serves the job's trapped calls
//! ([`request_gate::serve`]), and goes round: [`engine::Engine::turn`], the hold gate, [`engine::Engine::tend`], sleep.

pub mod cpu;
pub mod disk;
pub mod engine;
pub mod hold_gate;
pub mod job_processes;
pub mod lock;
pub mod memory;
pub mod net;
pub mod nudge;
mod open;
pub mod priority;
pub mod promise;
pub mod reader;
pub mod regulator;
pub mod report;
pub mod request_gate;
pub mod resource;
mod signal_turn;
mod signals;
pub mod thread;
