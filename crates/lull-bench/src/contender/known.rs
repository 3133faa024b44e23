//! The contenders that have a name: one row each.
//!
//! Rows are in the order of tables: references first, lull last.

use super::{Class, Contender};

/// The experiments on disks, on the CPU, on the network, on memory, and with real applications.
pub const DISK: u8 = 1;
/// See [`DISK`].
pub const CPU: u8 = 2;
/// See [`DISK`].
pub const NET: u8 = 4;
/// See [`DISK`].
pub const MEMORY: u8 = 8;
/// See [`DISK`].
pub const APPS: u8 = 16;
const ALL: u8 = DISK | CPU | NET | MEMORY | APPS;

/// Flags of the contender `lull-now`.
pub(super) const NOW: [&str; 2] = ["--resources", "disk,cpu,memory"];

/// The idle class in force, on all CPUs but the first.
pub const CONFINED: Contender = Contender::InForce { class: Class::Idle, confined: true };

/// A contender with a name.
#[derive(Debug)]
pub struct Known {
    /// Which.
    pub contender: Contender,
    /// The name on the command line, in records and in tables.
    pub name: &'static str,
    /// The experiments that compare it.
    experiments: u8,
    /// What comes before the job's command line, where that is always the same.
    pub before: &'static str,
    /// Its colour in all pictures: 0xRRGGBB.
    pub color: u32,
    /// What it is, for who reads its command.
    pub what: &'static str,
}

const fn row(
    contender: Contender,
    name: &'static str,
    experiments: u8,
    before: &'static str,
    color: u32,
) -> Known {
    Known { contender, name, experiments, before, color, what: "" }
}

impl Known {
    const fn is(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }
}

const fn in_force(class: Class, confined: bool) -> Contender {
    Contender::InForce { class, confined }
}

const NICE_IONICE: &str = "nice -n 19 ionice -c 3";
const IDLE: &str = "chrt -i 0 ionice -c 3";

static KNOWN: [Known; 32] = [
    row(Contender::Alone, "alone", ALL, "", 0x8c_8c_8c).is("the foreground with no background: what its figures are compared with"),
    row(Contender::Again, "again", ALL ^ DISK, "", 0x8c_8c_8c).is("the same once more: how far its ratios are from 1 is the noise"),
    row(Contender::Solo, "solo", ALL, "", 0xb4_b4_b4).is("the background with no foreground: what its work is compared with"),
    row(Contender::Unmanaged, "none", ALL, "", 0xd0_44_37).is("no control: the paper's baseline"),
    row(Contender::NiceIonice, "nice+ionice", DISK | MEMORY | APPS, NICE_IONICE, 0xb0_62_20).is("the lowest CPU priority and the idle I/O class: the paper's allnice"),
    row(Contender::Bfq, "bfq", DISK | MEMORY | APPS, NICE_IONICE, 0x54_70_d0).is("the same, with the disk on BFQ, which heeds the I/O class"),
    row(Contender::Idle, "idle", DISK | APPS, IDLE, 0x96_64_b4).is("SCHED_IDLE and the idle I/O class"),
    row(Contender::Nice, "nice", CPU | APPS, "nice -n 19", 0xeb_a0_37).is("the lowest CPU priority"),
    row(Contender::SchedIdle, "sched-idle", CPU, "chrt -i 0", 0x96_64_b4).is("SCHED_IDLE"),
    row(Contender::CpuIdle, "cpu.idle", CPU, "", 0x54_70_d0).is("a control group with cpu.idle"),
    row(in_force(Class::Idle, false), "idle-group", CPU | APPS, IDLE, 0x70_42_8c).is("the same in force: in a control group with cpu.idle at the top of the tree"),
    row(in_force(Class::Nice, false), "nice-group", CPU | APPS, NICE_IONICE, 0xcd_78_14).is("the lowest CPU priority in force: in such a group with the least weight"),
    row(CONFINED, "confined", CPU | APPS, IDLE, 0x14_5a_78).is("idle-group, kept off the first CPU"),
    row(in_force(Class::Nice, true), "confined-nice", CPU | APPS, NICE_IONICE, 0x78_3c_14).is("nice-group, kept off the first CPU"),
    row(Contender::Headroom, "headroom", CPU | APPS, "", 0x8a_6a_55).is("a CPU quota that follows the load every 5 s and leaves a fifth free, in the manner of Meta's sideloader"),
    row(Contender::CpuLimit, "cpulimit", CPU, "", 0xe0_55_9b).is("cpulimit at half of every CPU"),
    row(Contender::Policy("smart"), "smart", CPU | APPS, "", 0x1f_a3_bd).is("held in the foreground's busy periods (Yan et al., 2012)"),
    row(Contender::Policy("manners"), "manners", CPU | APPS, "", 0xe0_55_9b).is("held when its own progress falls (Douceur & Bolosky, 1999)"),
    row(Contender::Marked, "dscp", NET, "", 0x8a_6a_55).is("marks its packets DSCP Lower Effort"),
    row(Contender::Priority, "htb", NET, "", 0x54_70_d0).is("the same, on a link with two strict priorities"),
    row(Contender::FixedRate, "rate", NET, "", 0xe1_8c_28).is("keeps to a quarter of the link's rate"),
    row(Contender::Congestion("bbr"), "bbr", NET, "", 0x96_64_b4).is("this TCP congestion control, if the kernel has it"),
    row(Contender::Congestion("cubic"), "cubic", NET, "", 0x6e_be_96).is("likewise"),
    row(Contender::Congestion("lp"), "lp", NET, "", 0x1f_a3_bd).is("likewise"),
    row(Contender::Congestion("vegas"), "vegas", NET, "", 0xa5_9a_2d).is("likewise"),
    row(Contender::MemoryLimit, "limit", MEMORY, "", 0x6e_be_96).is("a memory control group that is limited to what the foreground leaves"),
    row(Contender::NoCache, "nocache", MEMORY, "", 0x6e_be_96).is("throws what it has read or written out of the page cache"),
    row(Contender::DirtyBytes, "dirty-bytes", MEMORY, NICE_IONICE, 0x6e_be_96).is("nice+ionice with vm.dirty_bytes at 64 MiB"),
    row(Contender::Cgroup, "cgroup", APPS, "", 0xc4_82_d6).is("control groups with cpu.idle, else the least weight, and the least I/O weight where there is one"),
    row(Contender::CgroupBfq, "cgroup-bfq", APPS, "", 0x80_94_e8).is("the same, with the disk on BFQ, which heeds the I/O weight"),
    row(Contender::Suspend, "suspend", APPS, "", 0xa5_9a_2d).is("frozen every other second, whatever the foreground does"),
    row(Contender::Lull(Vec::new()), "lull", ALL, "", 0x1f_9d_63).is("lull run at its defaults, or with the flags shown"),
];

/// All of them, in the order of tables.
pub(super) fn all() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter()
}

/// Those of an experiment.
pub(super) fn of(experiment: u8) -> impl Iterator<Item = &'static Known> {
    all().filter(move |known| known.experiments & experiment != 0)
}

/// By its name.
pub fn named(name: &str) -> Option<&'static Known> {
    all().find(|known| known.name == name)
}

/// Where a name stands in tables: references first, lull and its variants last.
pub fn rank(name: &str) -> usize {
    all().position(|known| known.name == name).unwrap_or(KNOWN.len())
}
