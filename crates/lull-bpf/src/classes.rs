//! Telling packets by the class of the process that opened their socket (`bpf/reserve.bpf.c`).
//!
//! A class is a handle of the interface's queueing discipline, major and minor number in one, which packets carry as their priority.
//! Children have their parent's class, sockets that of whoever opened them, connections that of their listener. Nothing is pinned: if
//! this process dies packets are those of nobody.
//!
//! Edge cases: a socket that was open before its process entered a class has none; a process that moves keeps its sockets' class.
//!
//! Source: `Documentation/bpf/map_sk_storage.rst`, tc-htb(8).

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use libbpf_rs::MapCore;

use crate::load::{Aligned, Loaded, Observers, Protect, SensorError};

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/reserve.bpf.o")));

/// The map of processes.
const CLASSES: &str = "classes";
/// The program on packets.
const PACKET: &str = "lull_reserve_packet";

/// The loaded programs, for one interface.
pub struct PacketClasses {
    programs: Loaded,
}

impl PacketClasses {
    /// Loads them; `root_group` is where cgroup v2 is mounted, `index` an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel has no BTF or no tcx (Linux 6.6), the rights are missing, or the group cannot be opened.
    pub fn load(root_group: &Path, index: u32) -> Result<Self, SensorError> {
        let mut programs = Loaded::load(Observers::Net, &PROGRAMS.0, &Protect::default(), |_| Ok(()))?;
        programs.attach()?;
        let group = File::open(root_group)
            .map_err(|source| SensorError::Group { group: root_group.to_owned(), source })?;
        programs.attach_to(group.as_fd())?;
        programs.attach_egress(PACKET, index)?;
        Ok(Self { programs })
    }

    /// Puts a process into a class.
    ///
    /// # Errors
    /// When there are too many processes.
    pub fn put(&self, pid: u32, class: u32) -> Result<(), SensorError> {
        self.programs.put("write a process down", CLASSES, &pid.to_ne_bytes(), &class.to_ne_bytes())
    }

    /// All processes that have one, with it.
    pub fn processes(&self) -> Vec<(u32, u32)> {
        let Ok(map) = self.programs.map(CLASSES) else { return Vec::new() };
        let number = |bytes: Vec<u8>| bytes.try_into().ok().map(u32::from_ne_bytes);
        let class = |key: &[u8]| map.lookup(key, libbpf_rs::MapFlags::ANY).ok().flatten();
        map.keys().filter_map(|key| Some((number(key.clone())?, number(class(&key)?)?))).collect()
    }
}
