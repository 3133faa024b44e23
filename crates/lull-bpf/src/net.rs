//! Observing network interfaces, marking a job's sockets, and its congestion control.
//!
//! | term | meaning here |
//! |---|---|
//! | request | a packet, from the stack's handing it to the interface until the driver takes it |
//! | latency | of a packet: the time in between, which is the queueing discipline's |
//! | quiet, loaded | no background waited when the packet arrived; some did |
//! | gap | from the last foreground packet that left to the next that arrives |
//!
//! Background is what a socket of the job sends and what carries DSCP Lower Effort (RFC 8622); the rest is foreground, or
//! with `--protect` what sockets of the named groups send. A packet with segmentation offload is one request.
//!
//! What else is named as background ([`tags`]) is told from packets and, for connections, from sockets of all programs.
//!
//! Marks and congestion control are attached to the job's control group, so that they reach all it starts and nothing else.
//! Nothing is pinned: links go with the process. Sockets that use the congestion control keep it, open, until they are
//! closed; the time up to which it holds ([`Interface::hold_until`]) is written ever anew, so that a dead lull holds nobody.
//!
//! Missed events mend themselves: see `bpf/net.bpf.c`.
//!
//! Source: the paper, sections 3.2 and 4.3; `Documentation/bpf/prog_cgroup_sockopt.rst`, `include/trace/events/net.h`.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libbpf_rs::{OpenObject, OpenProgramMut, ProgramType};
use memmap2::MmapRaw;

use crate::load::{Aligned, Loaded, Observers, Protect, SensorError};
use crate::record::MAX_DEVICES;
use crate::record::net::RawInterface;

mod interface;
pub mod tags;

pub use interface::{Interface, InterfaceReport};
use tags::Tags;

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/net.bpf.o")));

/// The map of the congestion control, and its name in the programs.
const IDLE: &str = "lull_idle";
/// Where the loader's constants are in `.rodata`, after those of `lull_task.h`.
const JOB_GROUP_AT: usize = 8;
const CONGESTION_AT: usize = 16;
/// The longest name of a congestion control, with the zero that ends it.
const NAME_BYTES: usize = 16;

/// What is foreground and whose sockets are marked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetSettings {
    /// What is foreground. Only control groups can be told from a packet: process ids are ignored.
    pub protect: Protect,
    /// The directory of the job's cgroup v2 group. Without one only packets with the mark are background.
    pub job_group: Option<PathBuf>,
    /// The congestion control for background TCP where the own one cannot be had.
    pub fallback: Option<String>,
    /// What else is background.
    pub tags: Tags,
}

/// What controls the job's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// The own one, which knows the interface's state.
    Idle,
    /// One of the kernel's, which does not; why.
    Kernel {
        /// Its name.
        name: String,
        /// Why the own one cannot be had.
        why: String,
    },
    /// What each socket has anyway; why.
    Unchanged {
        /// Why the own one cannot be had.
        why: String,
    },
}

impl Congestion {
    /// As the kernel knows it; empty for none. The own one is of this process alone: a name is taken once on a machine.
    fn name(&self) -> String {
        match self {
            Self::Idle => format!("lull_{}", std::process::id()),
            Self::Kernel { name, .. } => name.clone(),
            Self::Unchanged { .. } => String::new(),
        }
    }
}

/// The loaded programs.
pub struct NetSensor {
    programs: Loaded,
    records: Arc<MmapRaw>,
    /// Records that no interface has; the one that has been free for longest is first.
    free: VecDeque<u32>,
    congestion: Congestion,
}

/// The program that sends datagrams into waiting rooms, and its map.
const ROOM: &str = "lull_room";
const ROOMS: &str = "rooms";
/// The program that writes the mark into what was named, and the map of that.
const TAG: &str = "lull_tag";
const TAGS: &str = "tags";
/// The program that gives connections their whole receive window back.
const WINDOWS: &str = "lull_open_windows";
/// The program that marks the connections that the job has already.
const CONNECTIONS: &str = "lull_mark_connections";
/// The programs on sockets of the host, not of the job.
const HOST_OPS: &str = "lull_host_ops";
const HOST_ASKED: &str = "lull_host_asked";

impl std::fmt::Debug for NetSensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetSensor").field("congestion", &self.congestion).finish_non_exhaustive()
    }
}

impl NetSensor {
    /// Loads and attaches the programs. Needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and kernel BTF.
    ///
    /// # Errors
    /// When the kernel has no BTF, the rights are missing, a program is refused or the group cannot be opened.
    pub fn load(settings: &NetSettings) -> Result<Self, SensorError> {
        let group = settings.job_group.as_deref().map(|path| {
            let directory = open_group(path)?;
            let id = directory.metadata().map_err(|source| group_error(path, source))?.ino();
            Ok::<_, SensorError>((directory, id))
        });
        let group = group.transpose()?;
        let id = group.as_ref().map_or(0, |(_, id)| *id);
        let (mut programs, congestion) = match load(settings, id, &Congestion::Idle) {
            Ok(programs) => (programs, Congestion::Idle),
            Err(error) => {
                let why = error.to_string();
                let congestion = match &settings.fallback {
                    Some(name) => Congestion::Kernel { name: name.clone(), why },
                    None => Congestion::Unchanged { why },
                };
                (load(settings, id, &congestion)?, congestion)
            }
        };
        let records = programs.mapped("interfaces", MAX_DEVICES * size_of::<RawInterface>())?;
        programs.attach()?;
        if let Some((directory, _)) = &group {
            programs.attach_to(directory.as_fd())?;
            if congestion == Congestion::Idle {
                // Those that cannot be marked are as they were before.
                let _ = programs.run_over_all("mark connections", CONNECTIONS);
            }
        }
        programs.put("say what is named", TAGS, &0_u32.to_ne_bytes(), &settings.tags.record())?;
        let free = (0..u32::try_from(MAX_DEVICES).unwrap_or(0)).collect();
        Ok(Self { programs, records, free, congestion })
    }

    /// Begins to treat connections of all programs as the tags say, and to note how sockets are asked.
    ///
    /// # Errors
    /// When a control group cannot be opened or allows no programs; what was attached stays.
    pub fn tag_sockets(&mut self, tags: &Tags) -> Result<(), SensorError> {
        for (path, program) in [(&tags.answers, HOST_ASKED), (&tags.root_group, HOST_OPS)] {
            if let Some(path) = path {
                self.programs.attach_one_to(open_group(path)?.as_fd(), program)?;
            }
        }
        Ok(())
    }

    /// Writes the mark into named packets that leave through the interface with this index, in the calling thread's network
    /// namespace.
    ///
    /// # Errors
    /// Before Linux 6.6.
    pub fn tag_packets(&mut self, index: u32) -> Result<(), SensorError> {
        self.programs.attach_interface(TAG, index)
    }

    /// What controls the job's TCP.
    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// Begins to observe the interface with this index in the network namespace of this number (`/proc/PID/ns/net`).
    ///
    /// # Errors
    /// When all slots are taken.
    pub fn watch(&mut self, namespace: u32, index: u32) -> Result<Interface, SensorError> {
        let slot = self.free.pop_front().ok_or(SensorError::TooManyInterfaces)?;
        let interface = Interface::begin(Arc::clone(&self.records), slot as usize);
        let key = slot_key(namespace, index);
        let put = self.programs.put("watch an interface", "slots", &key, &slot.to_ne_bytes());
        if put.is_err() {
            self.free.push_front(slot);
        }
        put.map(|()| interface)
    }

    /// Ends that for an interface that is gone: its record is another's from then on.
    pub fn unwatch(&mut self, namespace: u32, index: u32, interface: &Interface) {
        self.programs.remove("slots", &slot_key(namespace, index));
        self.programs.remove(ROOMS, &index.to_ne_bytes());
        self.programs.detach_interface(index);
        self.free.extend(u32::try_from(interface.slot()));
    }

    /// Lets the job's datagrams through the interface with this index, in the calling thread's network namespace, wait in a room
    /// while it is the foreground's. [`Interface::set_room`] then names the room.
    ///
    /// # Errors
    /// Before Linux 6.6.
    pub fn hold_datagrams(&mut self, interface: &Interface, index: u32) -> Result<(), SensorError> {
        let slot = u32::try_from(interface.slot()).unwrap_or(u32::MAX);
        self.programs.put("name an interface", ROOMS, &index.to_ne_bytes(), &slot.to_ne_bytes())?;
        self.programs.attach_interface(ROOM, index)
    }

    /// Ends what is done to the job's sockets. Connections that other processes have by now get the whole receive window back,
    /// which would stay what it was.
    ///
    /// # Errors
    /// Where the own congestion control cannot be had.
    pub fn leave_sockets(&mut self) -> Result<(), SensorError> {
        // Otherwise the next packet would announce the bound again.
        self.programs.detach_groups();
        self.programs.run_over_all("open receive windows", WINDOWS)
    }

    /// A descriptor that polls readable when an awaited event has happened.
    pub fn wake_fd(&self) -> RawFd {
        self.programs.wake_fd()
    }

    /// Takes all wake-ups that are there.
    pub fn drain(&self) {
        self.programs.drain();
    }
}

/// As the programs look for an interface: its index is unique in its namespace alone.
fn slot_key(namespace: u32, index: u32) -> [u8; 8] {
    (u64::from(namespace) << 32 | u64::from(index)).to_ne_bytes()
}

fn group_error(path: &Path, source: std::io::Error) -> SensorError {
    SensorError::Group { group: path.to_owned(), source }
}

fn open_group(path: &Path) -> Result<File, SensorError> {
    File::open(path).map_err(|source| group_error(path, source))
}

/// The programs that nothing needs where nothing is named.
fn is_for_tags(name: &std::ffi::OsStr) -> bool {
    [TAG, HOST_OPS, HOST_ASKED].iter().any(|program| name == *program)
}

/// Loads for this congestion control, and registers it if it is the own one.
fn load(settings: &NetSettings, group: u64, congestion: &Congestion) -> Result<Loaded, SensorError> {
    let protect = Protect { pids: Vec::new(), cgroup_ids: settings.protect.cgroup_ids.clone() };
    let own = *congestion == Congestion::Idle;
    let mut programs = Loaded::load(Observers::Net, &PROGRAMS.0, &protect, |open| {
        let name = congestion.name();
        set_constants(open, group, &name);
        if settings.tags.is_empty() {
            for mut program in open.progs_mut().filter(|program| is_for_tags(program.name())) {
                program.set_autoload(false);
            }
        }
        if own {
            rename(open, &name);
        } else {
            // A kernel that takes the congestion control takes the other one, too: Linux 5.16.
            let is_newer = |program: &OpenProgramMut<'_>| {
                program.prog_type() == ProgramType::StructOps
                    || program.name() == WINDOWS
                    || program.name() == CONNECTIONS
            };
            for mut program in open.progs_mut().filter(is_newer) {
                program.set_autoload(false);
            }
            for mut map in open.maps_mut().filter(|map| map.name() == IDLE) {
                map.set_autocreate(false)?;
            }
        }
        Ok(())
    })?;
    if own {
        programs.register("register a congestion control", IDLE)?;
    }
    Ok(programs)
}

fn set_constants(open: &mut OpenObject, group: u64, congestion: &str) {
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata")
            && let Some(data) = map.initial_value_mut()
        {
            data[JOB_GROUP_AT..CONGESTION_AT].copy_from_slice(&group.to_ne_bytes());
            let name = congestion.as_bytes().iter().take(NAME_BYTES - 1);
            for (to, from) in data[CONGESTION_AT..CONGESTION_AT + NAME_BYTES].iter_mut().zip(name) {
                *to = *from;
            }
        }
    }
}

/// Registers the congestion control under another name.
fn rename(open: &mut OpenObject, name: &str) {
    for mut map in open.maps_mut().filter(|map| map.name() == IDLE) {
        let Some(data) = map.initial_value_mut() else { continue };
        let places = data.windows(IDLE.len()).position(|bytes| bytes == IDLE.as_bytes());
        let Some(place) = places.and_then(|at| data.get_mut(at..at + NAME_BYTES)) else { continue };
        place.fill(0);
        for (to, from) in place.iter_mut().zip(name.as_bytes().iter().take(NAME_BYTES - 1)) {
            *to = *from;
        }
    }
}
