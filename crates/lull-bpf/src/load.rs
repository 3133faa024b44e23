//! Loading compiled programs into the kernel: what all observers have in common.
//!
//! Nothing is pinned: programs, maps and timers go with the process that loaded them, also by kill -9.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use libbpf_rs::libbpf_sys;
use libbpf_rs::{
    AsRawLibbpf, Iter, Link, Map, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, ProgramAttachType,
    ProgramInput, ProgramMut, ProgramType, RingBuffer, RingBufferBuilder,
};
use memmap2::{MmapOptions, MmapRaw};

use crate::record::MAX_DEVICES;

/// Compiled programs, aligned for the ELF reader.
#[repr(C, align(8))]
pub(crate) struct Aligned<T: ?Sized>(pub(crate) T);

/// Bit that tells cgroup ids from process ids in `protected_ids`.
const CGROUP_KEY: u64 = 1 << 63;
/// Places of the constants of `lull_task.h`, which stand first in every object.
const PROTECT_AT: usize = 0;
const TASK_GROUPS_AT: usize = 4;
/// Programs of this type are run once by the loader, not attached.
const SETUP: ProgramType = ProgramType::Syscall;
/// Programs of this type belong to one network interface.
const OF_AN_INTERFACE: ProgramType = ProgramType::SchedCls;
/// Programs of this type are run on a CPU when user space says ([`OnCpu`]).
const ON_A_CPU: ProgramType = ProgramType::RawTracepoint;
/// Programs of these types belong to a control group.
const OF_A_GROUP: [ProgramType; 5] = [
    ProgramType::CgroupSockAddr,
    ProgramType::CgroupSock,
    ProgramType::SockOps,
    ProgramType::CgroupSockopt,
    ProgramType::CgroupSkb,
];
/// What the names of programs begin with that belong to another control group than the job's.
const OF_THE_HOST: &str = "lull_host_";

/// A set of observers, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observers {
    /// Of block devices.
    Block,
    /// Of the CPUs.
    Cpu,
    /// Of the page cache.
    Pages,
    /// Of network interfaces.
    Net,
    /// Of trapped calls that a signal ends.
    Restart,
}

impl Observers {
    const fn instead(self) -> &'static str {
        match self {
            Self::Block => "lull falls back to /proc/diskstats",
            Self::Cpu => "lull leaves the CPUs to the kernel's own classes",
            Self::Pages => "what the job reads stays in the page cache",
            Self::Net => "lull leaves the network as it is",
            Self::Restart => "a signal whose handler has no SA_RESTART may end a trapped call with EINTR",
        }
    }
}

impl std::fmt::Display for Observers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Block => "BPF block observers",
            Self::Cpu => "BPF CPU observers",
            Self::Pages => "BPF page-cache observers",
            Self::Net => "BPF network observers",
            Self::Restart => "BPF observers of ended calls",
        })
    }
}

/// Why the observers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SensorError {
    /// libbpf or the kernel refused a step.
    #[error("{observers}: cannot {step}: {source}; {}", observers.instead())]
    Bpf {
        /// Which ones.
        observers: Observers,
        /// What was attempted.
        step: &'static str,
        /// The kernel's answer.
        source: libbpf_rs::Error,
    },
    /// Mapping the records failed.
    #[error("{observers}: cannot map the records: {source}; {}", observers.instead())]
    Map {
        /// Which ones.
        observers: Observers,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// All slots are taken.
    #[error("BPF block observers: {MAX_DEVICES} devices are observed already; name fewer with --disk")]
    TooManyDevices,
    /// All slots are taken.
    #[error(
        "BPF network observers: {MAX_DEVICES} interfaces are observed already; the others are left as they are"
    )]
    TooManyInterfaces,
    /// The job's control group cannot be opened.
    #[error("BPF network observers: cannot open control group '{}': {source}; {}", group.display(), Observers::Net.instead())]
    Group {
        /// Its directory.
        group: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// What counts as foreground.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protect {
    /// Processes that are foreground, with all their descendants.
    pub pids: Vec<u32>,
    /// cgroup v2 ids (inode numbers) that are foreground, with all below them.
    pub cgroup_ids: Vec<u64>,
}

impl Protect {
    /// Nothing named: everything that is not background is foreground.
    pub const fn is_everything(&self) -> bool {
        self.pids.is_empty() && self.cgroup_ids.is_empty()
    }

    fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        let pids = self.pids.iter().map(|pid| u64::from(*pid));
        pids.chain(self.cgroup_ids.iter().map(|id| id | CGROUP_KEY))
    }
}

/// A program that runs on the CPU that is named, above whatever runs there (`BPF_F_TEST_RUN_ON_CPU`).
#[derive(Clone, Debug)]
pub(crate) struct OnCpu {
    program: Arc<OwnedFd>,
}

impl OnCpu {
    /// Runs it once; one interrupt, some microseconds. A CPU that is offline is left out.
    pub(crate) fn run(&self, cpu: u32) {
        // SAFETY: all-zero options are the defaults.
        let mut options: libbpf_sys::bpf_test_run_opts = unsafe { std::mem::zeroed() };
        options.sz = size_of_val(&options) as libbpf_sys::size_t;
        options.cpu = cpu;
        options.flags = libbpf_sys::BPF_F_TEST_RUN_ON_CPU;
        // SAFETY: the descriptor is open, the options name no memory.
        let _ = unsafe { libbpf_sys::bpf_prog_test_run_opts(self.program.as_raw_fd(), &raw mut options) };
    }
}

/// Programs in the kernel, and the ring through which they wake us.
pub(crate) struct Loaded {
    observers: Observers,
    object: Object,
    links: Vec<Link>,
    /// … to control groups.
    of_groups: Vec<Link>,
    /// … to network interfaces, by index.
    of_interfaces: Vec<(u32, Link)>,
    ring: RingBuffer<'static>,
}

impl Loaded {
    /// Loads `programs`, which are written against `lull_task.h` and have a ring named `wakes`. `adjust` may size maps.
    pub(crate) fn load(
        observers: Observers,
        programs: &'static [u8],
        protect: &Protect,
        adjust: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
    ) -> Result<Self, SensorError> {
        let step = |step: &'static str| move |source| SensorError::Bpf { observers, step, source };
        libbpf_rs::set_print(None);
        let mut open = ObjectBuilder::default().open_memory(programs).map_err(step("read the programs"))?;
        set_constant(&mut open, PROTECT_AT, u32::from(!protect.is_everything()));
        set_constant(&mut open, TASK_GROUPS_AT, u32::from(kernel_has_task_groups()));
        adjust(&mut open).map_err(step("size the maps"))?;
        let object = open.load().map_err(step("load the programs"))?;
        let mut ring = RingBufferBuilder::new();
        let wakes = map_of(&object, observers, "wakes")?;
        ring.add(&wakes, |_| 0).map_err(step("listen for wake-ups"))?;
        let ring = ring.build().map_err(step("listen for wake-ups"))?;
        let loaded = Self {
            observers,
            object,
            links: Vec::new(),
            of_groups: Vec::new(),
            of_interfaces: Vec::new(),
            ring,
        };
        for key in protect.keys() {
            loaded.put(
                "name what is protected",
                "protected_ids",
                &key.to_ne_bytes(),
                &1_u32.to_ne_bytes(),
            )?;
        }
        Ok(loaded)
    }

    /// Runs the programs that set something up once, and attaches the others.
    pub(crate) fn attach(&mut self) -> Result<(), SensorError> {
        let observers = self.observers;
        let step = |step: &'static str| move |source| SensorError::Bpf { observers, step, source };
        for program in self.object.progs_mut().filter(|program| program.autoload()) {
            if program.prog_type() == SETUP {
                let done = program.test_run(ProgramInput::default()).map_err(step("set up a timer"))?;
                if done.return_value != 0 {
                    let source = std::io::Error::from(std::io::ErrorKind::Unsupported).into();
                    return Err(step("set up a timer")(source));
                }
            } else if ![ProgramType::StructOps, OF_AN_INTERFACE, ON_A_CPU].contains(&program.prog_type())
                && !OF_A_GROUP.contains(&program.prog_type())
                && !is_on_demand(&program)
            {
                self.links.push(program.attach().map_err(step("attach the programs"))?);
            }
        }
        Ok(())
    }

    /// Attaches the programs that belong to the job's control group to this one.
    pub(crate) fn attach_to(&mut self, group: BorrowedFd<'_>) -> Result<(), SensorError> {
        let is_of_job = |program: &ProgramMut<'_>| !program.name().to_string_lossy().starts_with(OF_THE_HOST);
        self.attach_where(group, "attach to the job's control group", is_of_job)
    }

    /// Attaches one program to a control group.
    pub(crate) fn attach_one_to(&mut self, group: BorrowedFd<'_>, name: &str) -> Result<(), SensorError> {
        self.attach_where(group, "attach to a control group", |program| program.name() == name)
    }

    fn attach_where(
        &mut self,
        group: BorrowedFd<'_>,
        step: &'static str,
        is_wanted: impl Fn(&ProgramMut<'_>) -> bool,
    ) -> Result<(), SensorError> {
        let observers = self.observers;
        let programs = self.object.progs_mut().filter(|program| OF_A_GROUP.contains(&program.prog_type()));
        for program in programs.filter(is_wanted) {
            let link = program.attach_cgroup(group.as_raw_fd());
            self.of_groups.push(link.map_err(|source| SensorError::Bpf { observers, step, source })?);
        }
        Ok(())
    }

    /// Takes the programs off all control groups.
    pub(crate) fn detach_groups(&mut self) {
        self.of_groups.clear();
    }

    /// Runs a program over all things of its sort, in the calling thread's network namespace.
    pub(crate) fn run_over_all(&mut self, step: &'static str, name: &str) -> Result<(), SensorError> {
        let observers = self.observers;
        let failed = |source| SensorError::Bpf { observers, step, source };
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let link = program.ok_or_else(|| not_found(observers))?.attach().map_err(failed)?;
        let mut all = Iter::new(&link).map_err(failed)?;
        // It goes on while it is read; it writes nothing.
        std::io::copy(&mut all, &mut std::io::sink()).map(drop).map_err(|error| failed(error.into()))
    }

    /// A program that is run on a CPU at a time.
    pub(crate) fn on_cpu(&self, step: &'static str, name: &str) -> Result<OnCpu, SensorError> {
        let observers = self.observers;
        let program = self.object.progs().find(|program| program.name() == name);
        let program = program.ok_or_else(|| not_found(observers))?.as_fd().try_clone_to_owned();
        let program = program.map_err(|error| SensorError::Bpf { observers, step, source: error.into() })?;
        Ok(OnCpu { program: Arc::new(program) })
    }

    /// Attaches a program to what leaves through an interface, or to what comes: its section says which.
    pub(crate) fn attach_interface(&mut self, name: &str, index: u32) -> Result<(), SensorError> {
        let observers = self.observers;
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| not_found(observers))?;
        // SAFETY: the program is loaded and lives as long as the object; null options are the defaults.
        let link = unsafe {
            libbpf_sys::bpf_program__attach_tcx(
                program.as_libbpf_object().as_ptr(),
                index.cast_signed(),
                std::ptr::null(),
            )
        };
        let Some(link) = NonNull::new(link) else {
            let source = std::io::Error::last_os_error().into();
            return Err(SensorError::Bpf { observers, step: "attach to an interface", source });
        };
        // SAFETY: a link of libbpf's that nobody else has.
        self.of_interfaces.push((index, unsafe { Link::from_ptr(link) }));
        Ok(())
    }

    /// Forgets the programs on an interface that is gone; the kernel has taken them off.
    pub(crate) fn detach_interface(&mut self, index: u32) {
        self.of_interfaces.retain(|(of, _)| *of != index);
    }

    /// Registers a set of functions (struct_ops) by the name of its map.
    pub(crate) fn register(&mut self, step: &'static str, name: &str) -> Result<(), SensorError> {
        let observers = self.observers;
        let map = self.object.maps_mut().find(|map| map.name() == name);
        let mut map = map.ok_or_else(|| not_found(observers))?;
        let link = map.attach_struct_ops();
        self.links.push(link.map_err(|source| SensorError::Bpf { observers, step, source })?);
        Ok(())
    }

    /// A map by name.
    pub(crate) fn map(&self, name: &str) -> Result<Map<'_>, SensorError> {
        map_of(&self.object, self.observers, name)
    }

    /// Sets an entry of a map.
    pub(crate) fn put(
        &self,
        step: &'static str,
        name: &str,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), SensorError> {
        let observers = self.observers;
        let updated = self.map(name)?.update(key, value, MapFlags::ANY);
        updated.map_err(|source| SensorError::Bpf { observers, step, source })
    }

    /// Takes an entry out of a map, if it is there.
    pub(crate) fn remove(&self, name: &str, key: &[u8]) {
        if let Ok(map) = self.map(name) {
            let _ = map.delete(key);
        }
    }

    /// The memory of a map of mappable entries.
    pub(crate) fn mapped(&self, name: &str, len_bytes: usize) -> Result<Arc<MmapRaw>, SensorError> {
        let observers = self.observers;
        let map = self.map(name)?;
        let mapped = MmapOptions::new().len(len_bytes).map_raw(map.as_fd().as_raw_fd());
        mapped.map(Arc::new).map_err(|source| SensorError::Map { observers, source })
    }

    /// Events for which the kernel skipped one of the programs, because it would have interrupted itself; `None` where
    /// the kernel does not say. Source: the `fdinfo` of a program, in proc_pid_fdinfo(5) and `kernel/bpf/syscall.c`.
    pub(crate) fn missed(&self) -> Option<u64> {
        let loaded = self.object.progs().filter(|program| program.autoload());
        loaded.map(|program| misses_of(program.as_fd().as_raw_fd())).sum()
    }

    /// A descriptor that polls readable when an awaited event has happened.
    pub(crate) fn wake_fd(&self) -> RawFd {
        self.ring.epoll_fd()
    }

    /// Takes all wake-ups that are there.
    pub(crate) fn drain(&self) {
        // A failed read only means that the next poll returns at once.
        let _ = self.ring.consume();
    }
}

/// Sets the constant at this place (in bytes) of the programs' read-only data.
pub(crate) fn set_constant(open: &mut OpenObject, at: usize, value: u32) {
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata")
            && let Some(place) = map.initial_value_mut().and_then(|data| data.get_mut(at..at + 4))
        {
            place.copy_from_slice(&value.to_ne_bytes());
        }
    }
}

/// Whether it runs over all things of a sort, when it is told to.
fn is_on_demand(program: &ProgramMut<'_>) -> bool {
    matches!(program.attach_type(), ProgramAttachType::TraceIter)
}

fn map_of<'a>(object: &'a Object, observers: Observers, name: &str) -> Result<Map<'a>, SensorError> {
    object.maps().find(|map| map.name() == name).ok_or_else(|| not_found(observers))
}

fn not_found(observers: Observers) -> SensorError {
    SensorError::Bpf {
        observers,
        step: "find a map of the programs",
        source: std::io::Error::from(std::io::ErrorKind::NotFound).into(),
    }
}

fn misses_of(program: RawFd) -> Option<u64> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{program}")).ok()?;
    info.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

/// Whether the scheduler has task groups (`cpu.idle` needs them); the file exists exactly then.
fn kernel_has_task_groups() -> bool {
    std::path::Path::new("/proc/sys/kernel/sched_cfs_bandwidth_slice_us").exists()
}
