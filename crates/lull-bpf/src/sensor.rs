//! Loading the block observers and reading what they keep.
//!
//! [`BlockSensor`] owns the programs; they are detached when it goes, also by kill -9, since nothing is pinned.
//! [`Device`] is a cheap handle to one device's record that any thread may read.

use std::os::fd::RawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use libbpf_rs::{MapCore, MapFlags, OpenObject};
use lull_core::{Heads, Histogram, Interval, Latency, Nanos, Observation};
use memmap2::MmapRaw;

use crate::load::{Aligned, Loaded, Observers, Protect, SensorError, set_constant};
use crate::record::{INFINITE_NS, MAX_DEVICES, RawDevice};

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/block.bpf.o")));

/// Places of `recording` and `syncs_told` among the constants, behind the two of `lull_task.h`.
const RECORDING_AT: usize = 8;
const SYNCS_TOLD_AT: usize = 12;
/// Of `job`: its group in two halves, its root, its helper.
const JOB_AT: usize = 16;
/// What the names of programs begin with that count who waits for ext4, …
const OF_SYNCS: &str = "lull_sync_";
/// … which is there if this is.
const EXT4: &str = "/sys/fs/ext4";

fn step<T>(step: &'static str, result: libbpf_rs::Result<T>) -> Result<T, SensorError> {
    result.map_err(|source| SensorError::Bpf { observers: Observers::Block, step, source })
}

/// Which tasks are the job's. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The id of its cgroup v2 group.
    pub group: Option<u64>,
    /// Without a group: this process's descendants, …
    pub root: u32,
    /// … but not this one, which reads and writes for the job, and what descends from it.
    pub helper: u32,
}

impl Job {
    /// As `struct lull_job` has it.
    pub(crate) fn words(self) -> [u32; 4] {
        let group = self.group.unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, reason = "its halves")]
        let [low, high] = [group as u32, (group >> 32) as u32];
        let [first, second] = if cfg!(target_endian = "big") { [high, low] } else { [low, high] };
        [first, second, self.root, self.helper]
    }
}

/// The loaded observers.
pub struct BlockSensor {
    programs: Loaded,
    records: Arc<MmapRaw>,
    watched: u32,
}

impl std::fmt::Debug for BlockSensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockSensor").field("watched", &self.watched).finish_non_exhaustive()
    }
}

impl BlockSensor {
    /// Loads and attaches the programs. Needs CAP_BPF and CAP_PERFMON (or root) and kernel BTF.
    ///
    /// # Errors
    /// When the kernel has no BTF, the rights are missing or a program is refused.
    pub fn load(protect: &Protect) -> Result<Self, SensorError> {
        Self::load_for(Job::default(), protect)
    }

    /// As [`load`](Self::load); what this job and its helper do is background, whatever I/O classes they set.
    ///
    /// # Errors
    /// As of [`load`](Self::load).
    pub fn load_for(job: Job, protect: &Protect) -> Result<Self, SensorError> {
        Self::load_with(protect, |open| {
            for (place, word) in job.words().into_iter().enumerate() {
                set_constant(open, JOB_AT + place * size_of::<u32>(), word);
            }
            Ok(())
        })
    }

    /// As [`load`](Self::load); requests that end go into the ring `requests` of this size.
    pub(crate) fn load_recording(protect: &Protect, ring_bytes: u32) -> Result<Self, SensorError> {
        Self::load_with(protect, |open| {
            for mut map in open.maps_mut() {
                if map.name() == "requests" {
                    map.set_max_entries(ring_bytes)?;
                }
            }
            set_constant(open, RECORDING_AT, 1);
            Ok(())
        })
    }

    fn load_with(
        protect: &Protect,
        adjust: impl Fn(&mut OpenObject) -> libbpf_rs::Result<()>,
    ) -> Result<Self, SensorError> {
        let load = |counts_syncs: bool| {
            Self::attach(Loaded::load(Observers::Block, &PROGRAMS.0, protect, |open| {
                for mut program in open.progs_mut() {
                    let is_of_syncs = program.name().to_string_lossy().starts_with(OF_SYNCS);
                    program.set_autoload(counts_syncs || !is_of_syncs);
                }
                set_constant(open, SYNCS_TOLD_AT, u32::from(counts_syncs));
                adjust(open)
            })?)
        };
        // Where nobody counts, a journal is always foreground.
        if Path::new(EXT4).exists() { load(true).or_else(|_| load(false)) } else { load(false) }
    }

    fn attach(mut programs: Loaded) -> Result<Self, SensorError> {
        let records = programs.mapped("devices", MAX_DEVICES * size_of::<RawDevice>())?;
        programs.attach()?;
        Ok(Self { programs, records, watched: 0 })
    }

    pub(crate) fn programs(&self) -> &Loaded {
        &self.programs
    }

    /// Begins to observe the device with this number.
    ///
    /// # Errors
    /// When all slots are taken.
    pub fn watch(&mut self, major: u32, minor: u32) -> Result<Device, SensorError> {
        let slot = self.watched;
        if slot as usize >= MAX_DEVICES {
            return Err(SensorError::TooManyDevices);
        }
        let dev = major << 20 | minor;
        self.programs.put("watch a device", "slots", &dev.to_ne_bytes(), &slot.to_ne_bytes())?;
        self.watched += 1;
        Ok(Device { records: Arc::clone(&self.records), slot: slot as usize })
    }

    /// Takes requests that have been in service of `device` since before `oldest` off its counts: their end was missed.
    ///
    /// # Errors
    /// When the kernel refuses to list them.
    pub fn heal(&self, device: &Device, oldest: Nanos) -> Result<(), SensorError> {
        let map = self.programs.map("in_service")?;
        for key in map.keys() {
            let Some(entry) = step("look at a request", map.lookup(&key, MapFlags::ANY))? else { continue };
            let (Some(arrived), Some(slot), Some(class), Some(bytes)) =
                (entry.first_chunk::<8>(), entry.get(8..12), entry.get(12), entry.last_chunk::<8>())
            else {
                continue;
            };
            let is_ours = slot == u32::try_from(device.slot).unwrap_or(u32::MAX).to_ne_bytes();
            // Whoever takes the entry away takes the request off the count.
            if is_ours && u64::from_ne_bytes(*arrived) < oldest.0 && map.delete(&key).is_ok() {
                device.raw().end_missed(usize::from(*class), u64::from_ne_bytes(*bytes));
            }
        }
        Ok(())
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

/// One observed device. Cheap to clone; readable from any thread without a system call.
#[derive(Clone, Debug)]
pub struct Device {
    records: Arc<MmapRaw>,
    slot: usize,
}

/// What is only read now and then, for control and reports. Everything is cumulative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceReport {
    /// Latency of foreground requests that found no background in service, nor shortly before.
    pub quiet: Histogram,
    /// Latency of foreground requests that did.
    pub loaded: Histogram,
    /// The part of both that arrived while no other foreground was in service.
    pub heads: Heads,
    /// Spans without foreground in service.
    pub gaps: Histogram,
    /// Background service times.
    pub service: Histogram,
    /// State × event counts (I-7), in the order I F B P × f b t i.
    pub counters: [[u64; 4]; 4],
    /// Background requests that started in F or P.
    pub leaks: u64,
    /// Requests of neither class.
    pub neutral: u64,
    /// Requests whose end was missed and whose count was mended.
    pub healed: u64,
    /// Requests for which there was no room, among those in service or in the ring of a recording.
    pub dropped: u64,
    /// Bytes asked for by the foreground.
    pub foreground_bytes: u64,
    /// Bytes asked for by the background.
    pub background_bytes: u64,
}

impl Device {
    /// The first of these records.
    pub(crate) const fn first_of(records: Arc<MmapRaw>) -> Self {
        Self { records, slot: 0 }
    }

    pub(crate) fn raw(&self) -> &RawDevice {
        // SAFETY: the mapping holds MAX_DEVICES records and slot is below that; all fields are atomics, so that the
        // kernel may write while we read; the mapping lives as long as the Arc.
        unsafe { &*self.records.as_mut_ptr().cast::<RawDevice>().add(self.slot) }
    }

    /// Both classes now.
    pub fn observation(&self) -> Observation {
        self.raw().observation()
    }

    /// What the foreground's requests took, in sum.
    pub fn latency(&self) -> Latency {
        let raw = self.raw();
        let ((quiet, quiet_ns), (loaded, loaded_ns)) = (raw.quiet.total(), raw.loaded.total());
        Latency {
            requests: quiet + loaded,
            met: loaded,
            sum_ns: quiet_ns + loaded_ns,
            background: raw.view[1].read().started,
        }
    }

    /// Background requests that started in F or P, so far.
    pub fn leaks(&self) -> u64 {
        self.raw().leaks.load(Ordering::Relaxed)
    }

    /// Tells the kernel side what it counts against: the interval and the `flags` of the record.
    pub fn set_policy(&self, interval: Interval, flags: u32) {
        let interval_ns = match interval {
            Interval::Finite(length) => length.0,
            Interval::Infinite => INFINITE_NS,
        };
        self.raw().interval_ns.store(interval_ns, Ordering::Relaxed);
        self.raw().flags.store(flags, Ordering::Relaxed);
    }

    /// Asks for one wake-up at the next of these events (`WAKE_*`). Read the state again afterwards: the event may
    /// have come just before.
    pub fn ask_wake(&self, reasons: u32) {
        self.raw().wake.fetch_or(reasons, Ordering::SeqCst);
    }

    /// Everything that is kept.
    pub fn report(&self) -> DeviceReport {
        let raw = self.raw();
        DeviceReport {
            quiet: raw.quiet.read(),
            loaded: raw.loaded.read(),
            heads: Heads { quiet: raw.heads[0].read(), loaded: raw.heads[1].read() },
            gaps: raw.gaps.read(),
            service: raw.service.read(),
            counters: std::array::from_fn(|s| {
                std::array::from_fn(|e| raw.counters[s][e].load(Ordering::Relaxed))
            }),
            leaks: self.leaks(),
            neutral: raw.neutral.load(Ordering::Relaxed),
            healed: raw.healed.load(Ordering::Relaxed),
            dropped: raw.dropped.load(Ordering::Relaxed),
            foreground_bytes: raw.view[0].bytes(),
            background_bytes: raw.view[1].bytes(),
        }
    }
}
