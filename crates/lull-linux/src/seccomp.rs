//! The request gate's mechanism: a seccomp filter that traps chosen system calls, and the listener that answers them.
//!
//! | module | idea |
//! |---|---|
//! | [`filter`] | which calls are trapped, as a classic BPF program |
//! | [`affinity`] | making calls about affinities in their callers' place |
//! | [`listener`] | installing it, receiving trapped calls, letting them go on |
//!
//! The answer is "continue": lull delays calls. It makes those about affinities itself, as they would have been made without it, and refuses
//! io_uring where that has to be. Source: seccomp_unotify(2) and
//! Documentation/userspace-api/seccomp_filter.rst.

pub mod affinity;
pub mod filter;
pub mod listener;

pub use filter::Scope;
pub use listener::{Listener, Trap};
