//! The job's footprint in memory: what it reads through the page cache leaves nothing behind that was not there before, and
//! what it writes is written in pieces, in the gaps, so that little of it is dirty at any time.
//!
//! A thread of the supervisor (`page_keeper`) takes from the page-cache observer which pages the job brought in and which it
//! made dirty, and does what [`lull_core::memory::page_cache`] and [`lull_core::memory::writeback`] say. No call of the job is slowed down, and files
//! that are open for microseconds are seen like any other. Pieces to be written take their turn in the queue of their disk
//! ([`exchange`]). While nothing happens the thread sleeps.
//!
//! A second thread (`limit`) keeps memory free for the foreground, and takes the job's pages for that. A third one (`swap_ahead`) has written
//! some of them to swap before, while the disk was idle.
//!
//! All of this begins when it can matter ([`start`]), or with the job if memory was named.
//!
//! When the job is over, all of its pages go; what is still dirty then is written in the gaps of the next
//! ten seconds, and left to the kernel after that.

pub mod aim;
mod already_dirty;
pub mod exchange;
pub mod leftover;
mod limit;
mod manager;
mod page_keeper;
pub mod resource;
pub mod start;
mod swap_ahead;
pub mod thresholds;
