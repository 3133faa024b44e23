//! Telling packets by the class of the process that opened their socket (`bpf/reserve.bpf.c`), both ways.
//!
//! A class is a handle of the interface's queueing discipline, major and minor number in one, which packets carry as their priority.
//! Children have their parent's class, sockets that of whoever opened them, connections that of their listener. Nothing is pinned: if
//! this process dies packets are those of nobody.
//!
//! What comes is looked at before the kernel's protocols are: a datagram, or a new connection, that would find its socket's queue full is dropped
//! there, by the rule of [`Amount::takes`]. tcx, and not XDP: every interface has it, it stands beside others' programs, it goes with this
//! process, and it knows the packet's size in memory, which is what sockets count.
//!
//! Edge cases: a socket that was open before its process entered a class has none; a process that moves keeps its sockets' class.
//!
//! Source: `Documentation/bpf/map_sk_storage.rst`, tc-htb(8).

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use libbpf_rs::{MapCore, MapFlags};
use lull_core::proportional::srp::Amount;

use crate::load::{Aligned, Loaded, Observers, Protect, SensorError};

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/reserve.bpf.o")));

/// The map of processes.
const CLASSES: &str = "classes";
/// The map of what comes, by class.
const QUEUES: &str = "queues";
/// The programs on packets that go and that come.
const ON_PACKETS: [&str; 2] = ["lull_reserve_packet", "lull_reserve_input"];
/// `struct queue`: two bounds, then these.
const QUEUE_WORDS: usize = 5;

/// What came for one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Packets that were let through.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Packets that were dropped.
    pub refused: u64,
}
/// That of sockets, whose keys are descriptors of this process.
const SOCKETS: &str = "sockets";

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
        for program in ON_PACKETS {
            programs.attach_interface(program, index)?;
        }
        Ok(Self { programs })
    }

    /// Whether the kernel takes the programs; nothing is attached.
    ///
    /// # Errors
    /// As [`Self::load`]'s.
    pub fn try_load() -> Result<(), SensorError> {
        Loaded::load(Observers::Net, &PROGRAMS.0, &Protect::default(), |_| Ok(())).map(drop)
    }

    /// Puts a process into a class.
    ///
    /// # Errors
    /// When there are too many processes.
    pub fn put(&self, pid: u32, class: u32) -> Result<(), SensorError> {
        self.programs.put("write a process down", CLASSES, &pid.to_ne_bytes(), &class.to_ne_bytes())
    }

    /// Bounds what may wait at each socket of a class, and counts anew what comes for it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bound(&self, class: u32, most: Amount) -> Result<(), SensorError> {
        let words: [u64; QUEUE_WORDS] = [most.packets, most.bytes, 0, 0, 0];
        let record: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        self.programs.put("bound what may wait", QUEUES, &class.to_ne_bytes(), &record)
    }

    /// Forgets a class; what comes for its sockets goes its way.
    pub fn forget(&self, class: u32) {
        self.programs.remove(QUEUES, &class.to_ne_bytes());
    }

    /// What came for a class since it was bounded.
    pub fn input(&self, class: u32) -> Input {
        let found = self.programs.map(QUEUES).ok().and_then(|map| {
            let record = map.lookup(&class.to_ne_bytes(), MapFlags::ANY).ok().flatten()?;
            let (words, _) = record.as_chunks::<8>();
            let mut words = words.iter().map(|word| u64::from_ne_bytes(*word)).skip(2);
            Some(Input { packets: words.next()?, bytes: words.next()?, refused: words.next()? })
        });
        found.unwrap_or_default()
    }

    /// Puts one socket into a class, all descriptors of it.
    ///
    /// # Errors
    /// When it is no socket, or none of the internet.
    pub fn put_socket(&self, socket: BorrowedFd<'_>, class: u32) -> Result<(), SensorError> {
        let key = socket.as_raw_fd().to_ne_bytes();
        self.programs.put("write a socket down", SOCKETS, &key, &class.to_ne_bytes())
    }

    /// The class of a socket.
    pub fn of_socket(&self, socket: BorrowedFd<'_>) -> Option<u32> {
        let map = self.programs.map(SOCKETS).ok()?;
        let found = map.lookup(&socket.as_raw_fd().to_ne_bytes(), MapFlags::ANY).ok()??;
        found.try_into().ok().map(u32::from_ne_bytes)
    }

    /// All processes that have one, with it.
    pub fn processes(&self) -> Vec<(u32, u32)> {
        let Ok(map) = self.programs.map(CLASSES) else { return Vec::new() };
        let number = |bytes: Vec<u8>| bytes.try_into().ok().map(u32::from_ne_bytes);
        let class = |key: &[u8]| map.lookup(key, MapFlags::ANY).ok().flatten();
        map.keys().filter_map(|key| Some((number(key.clone())?, number(class(&key)?)?))).collect()
    }
}
