//! Words that all policy uses: time, sizes, shares, counts. None of them knows of a resource.

pub mod backoff;
pub mod bytes;
pub(crate) mod decimal;
pub mod histogram;
pub(crate) mod random;
pub mod share;
pub mod time;
pub mod view;
