//! The idletime policy as pure values.
//!
//! Background requests run only in the gaps that foreground requests leave (Eggert & Touch, *Idletime Scheduling
//! with Preemption Intervals*, SOSP 2005). This crate holds the whole policy and nothing else: no clock, no thread,
//! no file, no socket, no `unsafe`. Its owner (the live engine, a simulator, a test) passes the time in as `now`
//! and carries the returned actions out.
//!
//! | module | idea |
//! |---|---|
//! | [`time`] | [`Nanos`] and [`Interval`], parsed and printed with units |
//! | [`view`] | what a sensor knows of one resource: [`ClassView`] per class, [`Observation`] of both |
//! | [`histogram`] | log-linear buckets shared with the kernel programs |
#![forbid(unsafe_code)]

pub mod histogram;
pub mod time;
pub mod view;

pub use histogram::Histogram;
pub use time::{Interval, Nanos};
pub use view::{ClassView, Observation};
