//! Measured harm from outside: synthetic foregrounds whose harm is known, on a virtual clock.
#![expect(clippy::expect_used, reason = "helpers of tests fail like tests")]

mod deciding;
mod foreground;
mod interval;
