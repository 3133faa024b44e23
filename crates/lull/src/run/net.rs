//! What `lull run` alone knows of the network: its options, queues that are arranged while the job runs, and why it is left as it is.

pub(crate) mod obstacle;
pub(crate) mod options;
pub(crate) mod queues;
