//! Observing the CPUs: which class runs where, how many the foreground uses, what its bursts take.
//!
//! | term | meaning here |
//! |---|---|
//! | burst | of one foreground task, from its wake-up to its next sleep |
//! | delay | of a burst: from the wake-up to running |
//! | response | of a burst: all of it, delay, running and being preempted |
//! | quiet, loaded | no background ran on any CPU at the burst's wake-up; some did |
//! | crowded | of a burst: at its wake-up every CPU ran somebody, the background among them |
//!
//! Background is what carries the idle CPU class (of its own, or by `cpu.idle` of its group or of one above), or is in the
//! job's group, so that a job that raises its own priority stays background. Kernel threads and lull's own processes are
//! neutral: they run on somebody's behalf, nobody knows whose. The rest is foreground.
//!
//! Missed events: tracing programs are skipped where they would re-enter themselves. Nothing is counted up and down by
//! events: each CPU has a slot that is written anew at every switch, and what runs is the sum of the slots. What runs on a CPU when watching begins is looked at
//! there, once. A burst with a missed end is dropped, or taken together with the next one.
//!
//! Wake-ups of user space are asked for one by one ([`Cpus::wake_above`]), and spaced, so that they never cost more than they save.
//!
//! Needs kernel 5.18: the state in which a task leaves its CPU is told since then.
//!
//! Source: `Documentation/trace/events.rst`, `include/trace/events/sched.h`.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lull_core::{Histogram, Nanos};
use memmap2::MmapRaw;

use crate::load::{Aligned, Loaded, Observers, OnCpu, Protect, SensorError};
use crate::record::cpu::{OWN, RawCpu, RawSched};

static PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/sched.bpf.o")));

/// Which tasks are of which class, where their own idle class does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSettings {
    /// What is foreground.
    pub protect: Protect,
    /// lull's own processes, eight at most.
    pub own: Vec<u32>,
    /// The cgroup v2 id (inode number) of the job's group. Not needed where the group has `cpu.idle`.
    pub job_group: Option<u64>,
}

/// What runs on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuClass {
    /// Somebody waits for it.
    Foreground,
    /// The job, or whatever else bears an idle class.
    Background,
    /// Kernel threads, lull, what is not protected.
    Neutral,
    /// Nothing.
    Idle,
}

impl CpuClass {
    const fn of(raw: u32) -> Self {
        match raw {
            0 => Self::Foreground,
            1 => Self::Background,
            2 => Self::Neutral,
            _ => Self::Idle,
        }
    }
}

/// `CpuClass::Idle` in the record.
const NOTHING: u32 = 3;

/// One CPU now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSlot {
    /// What runs there.
    pub class: CpuClass,
    /// Since when; of the neutral class and of idle together: since the last of the other two left.
    pub since: Nanos,
}

/// Bursts of the foreground, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    /// Wake-ups that led to running.
    pub delays: u64,
    /// Their time from wake-up to running.
    pub delay_ns: u64,
    /// Bursts that ended.
    pub count: u64,
    /// Their time from wake-up to sleep.
    pub response_ns: u64,
    /// The same, each up to what was said last ([`Cpus::cut_at`]).
    pub cut_ns: u64,
    /// … of which on a CPU.
    pub on_cpu_ns: u64,
}

/// What a trial compares: sums only, cheap to read. Cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTotals {
    /// Bursts without background on any CPU.
    pub quiet: Bursts,
    /// Bursts with.
    pub loaded: Bursts,
    /// CPU time of the foreground.
    pub foreground_busy: Nanos,
    /// CPU time of the background.
    pub background_busy: Nanos,
    /// Bursts that began, and those of them that were crowded.
    pub began: u64,
    /// See `began`.
    pub crowded: u64,
}

/// What is only read now and then. Everything is cumulative; pairs are (quiet, loaded).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuReport {
    /// Wake-up to running; split by what ran at the wake-up.
    pub delay: [Histogram; 2],
    /// Wake-up to sleep.
    pub response: [Histogram; 2],
    /// CPU time of foreground and background, per CPU.
    pub busy: Vec<[Nanos; 2]>,
    /// Wake-ups of user space.
    pub wakes: u64,
}

/// The loaded observers. Detached when it goes, also by kill -9: nothing is pinned.
pub struct CpuSensor {
    programs: Loaded,
    cpus: Cpus,
}

impl std::fmt::Debug for CpuSensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CpuSensor").field("cpus", &self.cpus.count).finish_non_exhaustive()
    }
}

impl CpuSensor {
    /// Loads and attaches the programs; what begins at `began` or later is watched. Needs CAP_BPF and CAP_PERFMON (or root), kernel BTF and kernel 5.18.
    ///
    /// # Errors
    /// When the kernel is too old, the rights are missing or a program is refused.
    pub fn load(settings: &CpuSettings, began: Nanos) -> Result<Self, SensorError> {
        let observers = Observers::Cpu;
        let count = libbpf_rs::num_possible_cpus().map_err(|source| SensorError::Bpf {
            observers,
            step: "count the CPUs",
            source,
        })?;
        let entries = u32::try_from(count).unwrap_or(u32::MAX);
        let mut programs = Loaded::load(observers, &PROGRAMS.0, &settings.protect, |open| {
            open.maps_mut()
                .filter(|map| map.name() == "cpus")
                .try_for_each(|mut map| map.set_max_entries(entries))
        })?;
        let cpus = Cpus {
            records: programs.mapped("cpus", count * size_of::<RawCpu>())?,
            shared: programs.mapped("shared", size_of::<RawSched>())?,
            look: programs.on_cpu("find the program that looks", "lull_look")?,
            count,
        };
        for cpu in cpus.raw() {
            cpu.class.store(NOTHING, Ordering::Relaxed);
        }
        cpus.cut_at(Nanos::MAX);
        cpus.set_own(&settings.own);
        cpus.set_job_group(settings.job_group);
        cpus.begin(began);
        programs.attach()?;
        cpus.look();
        Ok(Self { programs, cpus })
    }

    /// A handle to the records.
    pub fn cpus(&self) -> Cpus {
        self.cpus.clone()
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

/// The observed CPUs. Cheap to clone; readable from any thread without a system call.
#[derive(Clone, Debug)]
pub struct Cpus {
    records: Arc<MmapRaw>,
    shared: Arc<MmapRaw>,
    look: OnCpu,
    count: usize,
}

impl Cpus {
    fn raw(&self) -> &[RawCpu] {
        // SAFETY: the mapping holds `count` records; all fields that the kernel writes are atomics, so that it may write
        // while we read; the mapping lives as long as the Arc.
        unsafe { std::slice::from_raw_parts(self.records.as_mut_ptr().cast::<RawCpu>(), self.count) }
    }

    fn shared(&self) -> &RawSched {
        // SAFETY: the mapping holds one record, of atomics, and lives as long as the Arc.
        unsafe { &*self.shared.as_mut_ptr().cast::<RawSched>() }
    }

    /// How many CPUs run foreground and background.
    pub fn running(&self) -> [u32; 2] {
        self.shared().running()
    }

    /// The most CPUs that the foreground used at once since the last call.
    pub fn take_peak(&self) -> u32 {
        let [foreground, _] = self.running();
        self.shared().peak.swap(0, Ordering::Relaxed).max(foreground)
    }

    /// Each possible CPU now, by its number.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = CpuSlot> + '_ {
        self.raw().iter().map(|cpu| CpuSlot {
            class: CpuClass::of(self.class(cpu)),
            since: Nanos(cpu.since_ns.load(Ordering::Relaxed)),
        })
    }

    /// The sums up to `now`.
    pub fn totals(&self, now: Nanos) -> CpuTotals {
        let mut totals = CpuTotals::default();
        for cpu in self.raw() {
            for (sum, i) in [(&mut totals.quiet, 0), (&mut totals.loaded, 1)] {
                sum.delays += cpu.bursts[i].delays.load(Ordering::Relaxed);
                sum.delay_ns += cpu.delay[i].sum_ns();
                sum.count += cpu.bursts[i].count.load(Ordering::Relaxed);
                sum.response_ns += cpu.response[i].sum_ns();
                sum.cut_ns += cpu.bursts[i].cut_ns.load(Ordering::Relaxed);
                sum.on_cpu_ns += cpu.bursts[i].on_cpu_ns.load(Ordering::Relaxed);
            }
            let [foreground, background] = self.busy(cpu, now);
            totals.foreground_busy = totals.foreground_busy.plus(foreground);
            totals.background_busy = totals.background_busy.plus(background);
            totals.began += cpu.began.load(Ordering::Relaxed);
            totals.crowded += cpu.crowded.load(Ordering::Relaxed);
        }
        totals
    }

    /// Everything that is kept, up to `now`.
    pub fn report(&self, now: Nanos) -> CpuReport {
        let mut report =
            CpuReport { wakes: self.shared().wakes_given.load(Ordering::Relaxed), ..CpuReport::default() };
        for cpu in self.raw() {
            for i in 0..2 {
                report.delay[i].merge(&cpu.delay[i].read());
                report.response[i].merge(&cpu.response[i].read());
            }
        }
        report.busy = self.busy_each(now).collect();
        report
    }

    /// CPU time of both classes up to `now`, CPU by CPU.
    pub fn busy_each(&self, now: Nanos) -> impl Iterator<Item = [Nanos; 2]> + '_ {
        self.raw().iter().map(move |cpu| self.busy(cpu, now))
    }

    /// How often the foreground's waits for I/O ended, CPU by CPU: where the interrupts are that wake it.
    pub fn io_ended_each(&self) -> impl Iterator<Item = u64> + '_ {
        self.raw().iter().map(|cpu| cpu.io_ended.load(Ordering::Relaxed))
    }

    fn begin(&self, now: Nanos) {
        self.shared().watched_ns.store(now.0.max(1), Ordering::SeqCst);
    }

    /// Finds what runs on the CPUs that have not switched since watching began.
    fn look(&self) {
        for (i, cpu) in (0..).zip(self.raw()) {
            if !self.is_current(cpu) {
                self.look.run(i);
            }
        }
    }

    /// What runs on a CPU, as far as it was seen since watching began.
    fn class(&self, cpu: &RawCpu) -> u32 {
        if self.is_current(cpu) { cpu.class.load(Ordering::Relaxed) } else { NOTHING }
    }

    fn is_current(&self, cpu: &RawCpu) -> bool {
        cpu.watched_ns.load(Ordering::Relaxed) == self.shared().watched_ns.load(Ordering::Relaxed)
    }

    /// CPU time of both classes on one CPU, with the span that runs at `now`.
    fn busy(&self, cpu: &RawCpu, now: Nanos) -> [Nanos; 2] {
        let class = self.class(cpu) as usize;
        let since = Nanos(cpu.since_ns.load(Ordering::Relaxed));
        std::array::from_fn(|i| {
            let running = if class == i { now.since(since) } else { Nanos::ZERO };
            Nanos(cpu.busy_ns[i].load(Ordering::Relaxed)).plus(running)
        })
    }

    /// Asks for one wake-up when the foreground uses more CPUs than this, `spacing` after the last one at the soonest; `None`: for
    /// none. Read what it uses again afterwards: it may have risen just before.
    pub fn wake_above(&self, most: Option<u32>, spacing: Nanos) {
        let shared = self.shared();
        shared.spacing_ns.store(spacing.0, Ordering::Relaxed);
        shared.need_above.store(most.unwrap_or(u32::MAX), Ordering::SeqCst);
        shared.wake.store(u32::from(most.is_some()), Ordering::SeqCst);
    }

    /// Whether the wake-up that was asked for has come; the foreground may use fewer CPUs again.
    pub fn has_woken(&self) -> bool {
        self.shared().wake.load(Ordering::SeqCst) == 0
    }

    /// Says how many CPUs there are: with fewer free than one a burst is crowded.
    pub fn set_online(&self, cpus: u32) {
        self.shared().online.store(cpus, Ordering::Relaxed);
    }

    /// From now on no burst counts for more than `most` in the sums that are cut.
    pub fn cut_at(&self, most: Nanos) {
        self.shared().most_ns.store(most.0, Ordering::Relaxed);
    }

    /// Names lull's own processes; all but the first six are ignored.
    pub fn set_own(&self, processes: &[u32]) {
        for (i, slot) in self.shared().own.iter().enumerate().take(OWN) {
            slot.store(processes.get(i).copied().unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Names the job's group: its cgroup v2 id.
    pub fn set_job_group(&self, id: Option<u64>) {
        self.shared().job_group.store(id.unwrap_or(0), Ordering::Relaxed);
    }
}
