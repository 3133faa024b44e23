//! Gates: what holds background work back. Mechanism only; when to hold is decided in `lull-core`.
//!
//! | module | idea |
//! |---|---|
//! | [`target`] | which file, and so which disk, a trapped call is about |
//! | [`size`] | how much it moves |
//! | [`cached`] | whether a trapped read would be served from the page cache |
//! | [`ahead`] | the job's open files, as far as reading ahead goes |
//! | [`inode`] | opening files by device and inode number |
//! | [`evict`] | taking pages out of the page cache |
//! | [`writeback`] | having dirty pages written |
//! | [`lend`] | how many and which CPUs the job may use |
//! | [`receive`] | the receive windows of the job's connections |
//! | [`qdisc`] | two classes in an interface's queue |
//! | [`waiting_room`] | where the job's datagrams wait |
//! | [`swap`] | which disk pages are swapped out to |
//! | [`thresholds`] | taking memory from the job |
//! | [`stop`] | holding a job that has no control group, by signals |

pub mod ahead;
pub mod cached;
pub mod evict;
pub mod inode;
pub mod lend;
pub mod qdisc;
pub mod receive;
pub mod size;
pub mod stop;
pub mod swap;
pub mod target;
pub mod thresholds;
pub mod waiting_room;
pub mod writeback;
