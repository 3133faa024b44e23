//! Observing the CPUs: which class runs where, when the foreground came and went, what its bursts take.
//!
//! The CPUs together are one resource of the policy's machine: a foreground task that runs, or was woken and is about
//! to, is a foreground request in service; each CPU that runs background is a background request in service.
//!
//! | term | meaning here |
//! |---|---|
//! | burst | of one foreground task, from its wake-up to its next sleep |
//! | delay | of a burst: from the wake-up to running |
//! | response | of a burst: all of it, delay, running and being preempted |
//! | quiet, loaded | no background ran on any CPU from the burst's wake-up to its end; some did |
//! | gap | no foreground on any CPU |
//!
//! Background is what carries the idle CPU class (of its own, or by `cpu.idle` of its group or of one above), or is in the
//! job's group, so that a job that raises its own priority stays background. Kernel threads and lull's own processes are
//! neutral: they run on somebody's behalf, nobody knows whose. The rest is foreground.
//!
//! Missed events: tracing programs are skipped where they would re-enter themselves. Nothing is counted up and down by
//! events: each CPU has a slot that is written anew at every switch, and what runs is the sum of the slots. A task that
//! was woken and not seen running counts as foreground for 10 ms at most. What runs on a CPU when watching begins is looked at
//! there, once. A burst with a missed end is dropped, or taken together with the next one.
//!
//! Wake-ups of user space are asked for one by one ([`Cpus::ask_wake`]). Those that make user space hold the job
//! (`WAKE_FOREGROUND_BEGIN`, `WAKE_LEAK`) are spaced ([`Cpus::set_waking`]), so that they never cost more than they save.
//! `WAKE_QUIET` is a timer in the kernel: one wake-up once the foreground has stayed away, none for each time it goes.
//!
//! While nothing can follow from what is seen, as when the job is held whatever the foreground does, watching can pause
//! ([`Cpus::pause`], [`Cpus::watch`]): the programs stay attached, since to attach them interrupts every CPU, and end at once. Nothing is
//! counted meanwhile, and a burst or a span that was not seen whole counts as none.
//!
//! Needs kernel 5.18: the state in which a task leaves its CPU is told since then.
//!
//! Source: `Documentation/trace/events.rst`, `include/trace/events/sched.h`.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lull_core::{ClassView, Histogram, Nanos, Observation};
use memmap2::MmapRaw;

use crate::load::{Aligned, Loaded, Observers, OnCpu, Protect, SensorError};
use crate::record::WAKE_GAP;
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
}

/// What is only read now and then. Everything is cumulative; pairs are (quiet, loaded).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuReport {
    /// Wake-up to running; split by what ran at the wake-up.
    pub delay: [Histogram; 2],
    /// Wake-up to sleep.
    pub response: [Histogram; 2],
    /// Spans without foreground on any CPU.
    pub gaps: Histogram,
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

    /// Both classes at `now`. A foreground request is a burst; a background request is a span on one CPU.
    pub fn observation(&self, now: Nanos) -> Observation {
        let mut views = [ClassView::default(); 2];
        for cpu in self.raw() {
            for (view, raw) in views.iter_mut().zip(&cpu.view) {
                view.started += raw.started.load(Ordering::Relaxed);
                view.ended += raw.ended.load(Ordering::Relaxed);
                view.last_start = view.last_start.max(Nanos(raw.last_start_ns.load(Ordering::Relaxed)));
                view.last_end = view.last_end.max(Nanos(raw.last_end_ns.load(Ordering::Relaxed)));
            }
        }
        let [mut foreground, mut background] = views;
        [foreground.in_service, background.in_service] = self.running(now);
        Observation { foreground, background }
    }

    /// How many CPUs run foreground and background at `now`; foreground that is about to run counts as one.
    pub fn running(&self, now: Nanos) -> [u32; 2] {
        let shared = self.shared();
        let [foreground, background] = shared.running();
        [foreground.max(u32::from(shared.foreground_waits(now.0))), background]
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
                sum.on_cpu_ns += cpu.bursts[i].on_cpu_ns.load(Ordering::Relaxed);
            }
            let [foreground, background] = self.busy(cpu, now);
            totals.foreground_busy = totals.foreground_busy.plus(foreground);
            totals.background_busy = totals.background_busy.plus(background);
        }
        totals
    }

    /// Everything that is kept, up to `now`.
    pub fn report(&self, now: Nanos) -> CpuReport {
        let mut report = CpuReport {
            wakes: self.shared().wakes_given.load(Ordering::Relaxed).into(),
            ..CpuReport::default()
        };
        for cpu in self.raw() {
            for i in 0..2 {
                report.delay[i].merge(&cpu.delay[i].read());
                report.response[i].merge(&cpu.response[i].read());
            }
            report.gaps.merge(&cpu.gaps.read());
            report.busy.push(self.busy(cpu, now));
        }
        report
    }

    /// Ends watching until [`watch`](Self::watch): nothing is counted, and no wake-up comes but those under way.
    pub fn pause(&self) {
        self.shared().watched_ns.store(0, Ordering::SeqCst);
    }

    /// Begins to watch at `now`, some milliseconds after [`pause`](Self::pause) at the least, so that no program that had begun before
    /// is still at it. Costs each CPU one interrupt. The foreground is taken for awake until it is seen to run, but for 10 ms at most.
    pub fn watch(&self, now: Nanos) {
        self.begin(now);
        self.look();
    }

    fn begin(&self, now: Nanos) {
        let shared = self.shared();
        for word in [&shared.running, &shared.begun_ns, &shared.quiet_since_ns] {
            word.store(0, Ordering::Relaxed);
        }
        shared.woken_ns.store(now.0, Ordering::Relaxed);
        shared.watched_ns.store(now.0.max(1), Ordering::SeqCst);
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
            Nanos(cpu.view[i].busy_ns.load(Ordering::Relaxed)).plus(running)
        })
    }

    /// How long the foreground has to stay away for `WAKE_QUIET`, and the least time between two wake-ups that make
    /// user space hold the job.
    pub fn set_waking(&self, quiet: Nanos, spacing: Nanos) {
        self.shared().quiet_ns.store(quiet.0, Ordering::Relaxed);
        self.shared().spacing_ns.store(spacing.0, Ordering::Relaxed);
    }

    /// Asks for one wake-up at the next of these events (`WAKE_*`). Read the state again afterwards: the event may
    /// have come just before. In particular no timer runs for `WAKE_QUIET` while the foreground is away already.
    pub fn ask_wake(&self, reasons: u32) {
        self.shared().wake.fetch_or(reasons, Ordering::SeqCst);
    }

    /// Asks for one wake-up when the foreground's last running task goes to sleep, at `from` or later. There is none while the
    /// foreground stays away, or never sleeps.
    pub fn ask_wake_in_gap(&self, from: Nanos) {
        self.shared().gap_ns.store(from.0, Ordering::SeqCst);
        self.ask_wake(WAKE_GAP);
    }

    /// Whether the kernel's own timer runs, which gives `WAKE_QUIET` if that is asked for, or runs on.
    pub fn is_alarm_set(&self) -> bool {
        self.shared().alarm_armed.load(Ordering::SeqCst) != 0
    }

    /// Takes back what was asked for and has not happened.
    pub fn forget_wake(&self, reasons: u32) {
        self.shared().wake.fetch_and(!reasons, Ordering::SeqCst);
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
