//! The processes around a job, and what they share.
//!
//! ```text
//!   shell
//!     └─ front ──┬─ job            the command; the filter's listener is made in it and handed up
//!                ├─ supervisor     sensors, policy, gates; own session
//!                └─ guardian       own session; lets every call pass once the supervisor is dead
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`shared`] | the calls that were received and not yet answered, in memory that outlives any one of the three |
//! | [`passing`] | descriptors and messages over socket pairs |
//! | [`launch`] | the way from fork to exec in the job |
//! | [`relief`] | letting every call pass, for whoever is left |

pub mod launch;
pub mod passing;
pub mod relief;
pub mod shared;
