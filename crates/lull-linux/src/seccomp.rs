//! The request gate's mechanism: a seccomp filter that traps chosen system calls, and the listener that answers them.
//!
//! | module | idea |
//! |---|---|
//! | [`filter`] | which calls are trapped, as a classic BPF program |
//! | [`listener`] | installing it, receiving trapped calls, letting them go on |
//!
//! The answer is always "continue": lull delays calls, it never changes them. Source: seccomp_unotify(2) and
//! Documentation/userspace-api/seccomp_filter.rst.

pub mod filter;
pub mod listener;

pub use filter::Scope;
pub use listener::{Listener, Trap};
