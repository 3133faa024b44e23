//! What `lull run` alone knows of the network: its options, and queues that are arranged while the job runs.

pub(crate) mod options;
pub(crate) mod queues;
