//! Other policies, for comparison: they know no requests and hold the whole job.
//!
//! | module | holds the job |
//! |---|---|
//! | [`manners`] | when its own progress falls (Douceur & Bolosky, SOSP 1999) |
//! | [`smart`] | in the foreground's busy periods (Yan et al., 2012) |

pub mod manners;
pub mod smart;
