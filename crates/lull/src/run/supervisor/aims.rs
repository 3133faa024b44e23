//! What the engine is told to do, by what the run is set to.

use lull_api::{HoldChoice, PolicyChoice, SensorChoice};
use lull_engine::disk::start::DiskAim;
use lull_engine::hold_gate::HoldBy;
use lull_engine::net::NetAim;
use lull_engine::regulator::Regulation;

use crate::run::settings::RunSettings;

pub(crate) fn disk_aim(settings: &RunSettings) -> DiskAim {
    DiskAim {
        watches: settings.watches_disks,
        names: settings.asked.disks.disk.clone(),
        with_bpf: settings.asked.disks.sensor != SensorChoice::Diskstats,
        protect: settings.protect.clone(),
        control: settings.control,
        hold: settings.hold,
    }
}

pub(crate) fn net_aim(settings: &RunSettings) -> NetAim {
    NetAim {
        protect: settings.protect.clone(),
        tags: settings.tags.clone(),
        control: settings.control,
        hold: settings.hold,
    }
}

pub(crate) const fn hold_by(choice: HoldChoice) -> HoldBy {
    match choice {
        HoldChoice::Quota => HoldBy::Quota,
        HoldChoice::Freeze => HoldBy::Freeze,
    }
}

/// Who holds the whole job, if the resources do not.
pub(crate) fn regulation(policy: PolicyChoice) -> Option<Regulation> {
    match policy {
        PolicyChoice::Idletime => None,
        PolicyChoice::Smart(setting) => Some(Regulation::Smart(setting)),
        PolicyChoice::Manners(setting) => Some(Regulation::Manners(setting)),
    }
}
