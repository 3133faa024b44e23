//! Class marks: how the kernel, and lull's own sensors, tell a background job from everything else.
//!
//! Problem: the popular marks (nice, ionice) are set everywhere and ignored on most machines; setting them blindly hides
//! that, and leaving them out where they work wastes them. Approach: [`Plan::for_facts`] turns what the probe found into
//! the marks to set and, for each mark, a [`Reason`]: whether it takes effect here, and why. The plan also names the
//! sensor and the gates that will be used, so that `doctor` and `run` can't disagree.
//!
//! Marks are inherited by all children of the job. They are set by the job's first process between fork and exec, so
//! [`MarkSet::apply`] makes system calls only: no allocation, no lock.
//!
//! | mark | what it does | what may void it |
//! |---|---|---|
//! | `cpu.idle` (group) | runs when no other group wants the CPU | no right to make a group, no cpu controller |
//! | `SCHED_IDLE` | runs when no other task of the same CPU group wants the CPU | autogroup: only within the session |
//! | nice 19 | a small share instead of none | only set where SCHED_IDLE can't be |
//! | I/O class idle | the scheduler of a disk serves it last | schedulers `none`, `kyber`; it still is the sensors' tag; [`io_class`] |
//! | `oom_score_adj` | is the first to go when memory runs out | |
//! | timer slack | timers may fire later, several at once | void under real-time classes |
//!
//! A disk whose scheduler is `bfq` is used as it is: the I/O class then has its full effect there.
//!
//! Edge cases: reset-on-fork is never set, because the job's children are background too. Nothing here needs privilege: all
//! marks only lower a process. Going back up is not possible for an ordinary user, so lull never marks itself.
//!
//! Whether the CPU class is in force, so that it counts against others than the job's own session or slice, is told by [`crate::cgroup::Reach`]
//! and, by experiment, by [`force`].
//!
//! Source: sched(7), ioprio_set(2), proc_pid_oom_score_adj(5), PR_SET_TIMERSLACK(2const).

pub mod apply;
pub mod force;
pub mod io_class;
mod plan;
pub mod sessions;
mod turn;
mod unmark;

pub use apply::{Mark, MarkSet, enter};
pub use io_class::IoClass;
pub use plan::{Choice, Effect, Plan, Reason};
pub use turn::{First, come_first, let_others_run, run_promptly, serve_the_foreground};
pub use unmark::Plain;

#[cfg(test)]
mod tests;
