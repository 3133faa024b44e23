//! What the supervisor is given by the front that forks it.

use std::sync::Arc;

use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;
use lull_linux::job::passing::Channel;
use lull_linux::job::shared::Shared;

use crate::run::net::queues::Queues;
use crate::run::settings::RunSettings;

/// See the module.
pub(crate) struct Inputs {
    pub(crate) settings: RunSettings,
    pub(crate) channel: Channel,
    pub(crate) shared: Arc<Shared>,
    pub(crate) group: Option<JobGroup>,
    /// What could not be had, for a person.
    pub(crate) notes: Vec<String>,
    pub(crate) born: Nanos,
    /// How often the front is told what its status line shows.
    pub(crate) status_every: Option<Nanos>,
    /// Interfaces whose queue goes back to what it was when the job has ended.
    pub(crate) queues: Queues,
}
