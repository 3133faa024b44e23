//! What the foreground may lose, what it has lost, and how that is known.
//!
//! | module | idea |
//! |---|---|
//! | [`budget`] | the loss that was promised, as credits in a leaky bucket per resource |
//! | [`late`] | requests that take far longer than nearly all do without the job |
//! | [`ledger`] | what is lost on all resources, against the one promise |
//! | [`trial`] | measured harm: randomised short holds, a confidence interval, a verdict |

pub mod budget;
pub mod late;
pub mod ledger;
pub mod trial;
