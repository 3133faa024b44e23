//! Guests of a batch system on a node that has an owner, whatever the batch system.
//!
//! | module | idea |
//! |---|---|
//! | [`watch`] | what the owner uses, whether he is at work, what guests get and what they cost him |
//! | [`below`] | guests stay below everybody on the CPUs |
//! | [`signals`] | waiting for a time, or for a signal |
//! | [`start`] | running a guest under lull; without it where lull cannot |
//!
//! A batch system's adapter, such as [`condor`](crate::condor), knows the names of its daemons, says what was watched in its own language,
//! and has the policy carried out: rules and constants are those of [`lull_core::linger`].

pub(crate) mod below;
pub(crate) mod signals;
pub(crate) mod start;
pub(crate) mod watch;
