//! Measured harm from outside: synthetic foregrounds whose harm is known, on a virtual clock.
#![expect(clippy::expect_used, reason = "helpers of tests fail like tests")]

mod awake;
mod deciding;
mod foreground;
mod interval;
mod lending;
mod measure;
mod queue;
mod scene;
mod together;
