//! What front, supervisor and guardian tell each other. One JSON value per packet.

use serde::{Deserialize, Serialize};

use super::summary::Summary;
use lull_engine::report::status::Status;

/// From the front to the supervisor; the listener's descriptor comes with `Listener`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToSupervisor {
    /// The filter stands; its listener is attached.
    Listener,
    /// There will be no trapped calls; why, if they were wanted.
    NoListener(Option<String>),
    /// The job runs its program. Held before that it could not report, and the front, which waits for the report, would
    /// pass on no signal.
    Begun,
    /// The job's first process has ended: send the summary.
    JobEnded,
}

/// From the supervisor to the front.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromSupervisor {
    /// Trapped calls will be answered.
    Serving,
    /// Something that the user has to know now.
    Told(String),
    /// For the status line.
    Status(Box<Status>),
    /// The last words.
    Summary(Box<Summary>),
}

/// From the front to the guardian; the listener's descriptor comes with `Listener`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToGuardian {
    /// The filter stands; its listener is attached.
    Listener,
    /// There will be no trapped calls.
    NoListener,
    /// The front ends as it should, its terminal in order.
    Bye,
}
