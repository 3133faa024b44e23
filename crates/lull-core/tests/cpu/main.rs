//! CPUs that are lent, on a virtual clock: what the job gets and what the foreground loses.
#![expect(clippy::expect_used, reason = "helpers of tests fail like tests")]

mod crowd;
mod dice;
mod server;
