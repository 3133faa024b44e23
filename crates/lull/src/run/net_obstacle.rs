//! Whether the network can be lent once the job uses it.

use std::path::Path;

use lull_api::SensorChoice;
use lull_linux::probe::{BpfFacts, UserFacts};
use lull_linux::root::Root;
use lull_linux::seccomp::Scope;

use super::settings::RunSettings;

/// Why it is left as it is from the beginning: by what was asked for, without a word, or for want of something, in words.
pub(crate) enum Obstacle {
    /// The options leave nobody who would see the job's sockets.
    Chosen,
    /// What is missing here.
    Missing(&'static str),
}

/// What there is to be seen before the job begins.
pub(crate) fn obstacle(settings: &RunSettings, groups: &[impl AsRef<Path>]) -> Option<Obstacle> {
    let root = Root::real();
    let told_apart = settings.protect.is_everything() || !settings.protect.cgroup_ids.is_empty();
    if !told_apart || settings.scope == Scope::None || settings.asked.disks.sensor == SensorChoice::Diskstats
    {
        return Some(Obstacle::Chosen);
    }
    if !groups.iter().any(|group| group.as_ref().join("cgroup.controllers").exists()) {
        return Some(Obstacle::Missing("no cgroup v2 group for the job, by which its sockets are told"));
    }
    if !BpfFacts::read(&root).usable() {
        return Some(Obstacle::Missing("BPF programs cannot be loaded"));
    }
    let may = UserFacts::read(&root).has("CAP_NET_ADMIN");
    (!may).then_some(Obstacle::Missing("no CAP_NET_ADMIN"))
}
