//! What the CPUs do beside a simulated foreground, on a virtual clock.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use super::*;
use crate::lock::lock;

const MILLI: Nanos = Nanos::from_millis(1);
const CPUS: u32 = 4;

/// What happens on the CPUs: the foreground runs on the first ones, the job on one that it is lent.
#[derive(Debug, Default)]
struct World {
    running: u32,
    job_runs: bool,
    totals: CpuTotals,
    busy: [Nanos; CPUS as usize],
    asked: Option<u32>,
    woken: bool,
    lent: CpuSet,
    refuses: bool,
    followed: CpuSet,
}

struct Seen(Arc<Mutex<World>>);

impl CpuView for Seen {
    fn running(&self) -> [u32; 2] {
        let world = lock(&self.0);
        [world.running, u32::from(world.job_runs)]
    }

    fn take_peak(&self) -> u32 {
        lock(&self.0).running
    }

    fn totals(&self, _now: Nanos) -> CpuTotals {
        lock(&self.0).totals
    }

    fn bursts(&self, _now: Nanos) -> [Histogram; 2] {
        <[Histogram; 2]>::default()
    }

    fn busy_each(&self, _now: Nanos) -> Vec<Nanos> {
        lock(&self.0).busy.to_vec()
    }

    fn io_ended_each(&self) -> Vec<u64> {
        vec![0; CPUS as usize]
    }

    fn wake_above(&self, most: Option<u32>, _spacing: Nanos) {
        let mut world = lock(&self.0);
        (world.asked, world.woken) = (most, false);
    }

    fn has_woken(&self) -> bool {
        lock(&self.0).woken
    }

    fn set_online(&self, cpus: u32) {
        assert_eq!(cpus, CPUS);
    }

    fn cut_at(&self, _most: Nanos) {}
}

struct Lends {
    world: Arc<Mutex<World>>,
    all: CpuSet,
    lent: CpuSet,
}

impl CpuGate for Lends {
    fn all(&self) -> &CpuSet {
        &self.all
    }

    fn lent(&self) -> &CpuSet {
        &self.lent
    }

    fn lend(&mut self, count: usize, used: &dyn Fn(u32) -> f64, _margin: f64) -> std::io::Result<()> {
        let mut world = lock(&self.world);
        if world.refuses {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        let mut cpus: Vec<u32> = self.all.iter().collect();
        cpus.sort_by(|a, b| used(*a).total_cmp(&used(*b)).then(b.cmp(a)));
        self.lent = cpus.into_iter().take(count).collect();
        world.lent = self.lent.clone();
        Ok(())
    }

    fn widen(&mut self) {}

    fn narrow(&mut self) {}

    fn follow(&self, cpus: &CpuSet) {
        lock(&self.world).followed = cpus.clone();
    }
}

struct Bench {
    cpu: Cpu,
    world: Arc<Mutex<World>>,
    now: Nanos,
}

impl Bench {
    fn new(longest: Option<Nanos>) -> Self {
        let all: CpuSet = (0..CPUS).collect();
        let world = Arc::new(Mutex::new(World { job_runs: true, lent: all.clone(), ..World::default() }));
        let now = Nanos::from_secs(100);
        let aim = CpuAim {
            promise: Loss::percent(5),
            max_delay: Nanos::from_micros(100),
            floor: Share::percent(2),
            longest,
        };
        let gate = Lends { world: Arc::clone(&world), all: all.clone(), lent: all };
        let cpu = Cpu::new(Box::new(Seen(Arc::clone(&world))), Box::new(gate), None, &aim, now);
        Self { cpu, world, now }
    }

    /// A millisecond passes, as if the loop had looked in it; the foreground's bursts take one each.
    fn step(&mut self) {
        self.now = self.now.plus(MILLI);
        let was_held = self.cpu.wants_hold();
        {
            let mut world = lock(&self.world);
            let running = world.running;
            world.totals.foreground_busy = world.totals.foreground_busy.plus(MILLI.times(running.into()));
            world.busy.iter_mut().take(running as usize).for_each(|busy| *busy = busy.plus(MILLI));
            let job_runs = world.job_runs && !was_held;
            if job_runs {
                world.totals.background_busy = world.totals.background_busy.plus(MILLI);
            }
            let bursts = if job_runs { &mut world.totals.loaded } else { &mut world.totals.quiet };
            bursts.count += u64::from(running);
            bursts.cut_ns += u64::from(running) * MILLI.0;
            world.totals.began += u64::from(running);
            world.woken |= world.asked.is_some_and(|most| running > most);
        }
        self.cpu.turn(self.now, was_held);
    }

    /// The foreground runs on so many CPUs for so long.
    fn pass(&mut self, running: u32, span: Nanos) {
        lock(&self.world).running = running;
        let end = self.now.plus(span);
        while self.now < end {
            self.step();
        }
    }

    fn lent(&self) -> CpuSet {
        lock(&self.world).lent.clone()
    }
}

#[test]
fn a_foreground_at_work_has_its_cpus_and_a_free_one_and_the_job_has_all_when_it_has_gone() {
    let mut bench = Bench::new(None);
    bench.pass(0, Nanos::from_secs(1));
    assert_eq!(bench.lent().len(), CPUS as usize);
    bench.pass(1, Nanos::from_secs(3));
    assert_eq!(bench.lent().len(), 2, "{:?}", bench.lent());
    assert!(!bench.lent().contains(0), "that one is the foreground's");
    assert!(bench.cpu.usage().contended);
    bench.pass(0, Nanos::from_secs(3));
    assert_eq!(bench.lent().len(), CPUS as usize);
    assert!(!bench.cpu.usage().contended);
}

#[test]
fn the_first_burst_at_work_is_told_by_a_wake_up() {
    let mut bench = Bench::new(None);
    bench.pass(0, Nanos::from_secs(1));
    assert_eq!(lock(&bench.world).asked, Some(0), "any use is told while the foreground is away");
    bench.pass(2, MILLI.times(10));
    assert!(bench.lent().len() < CPUS as usize, "within milliseconds of work");
}

#[test]
fn the_job_is_withheld_now_and_then_to_see_what_it_costs_but_never_for_long() {
    let longest = Nanos::from_millis(50);
    let mut bench = Bench::new(Some(longest));
    let (mut held, mut most, mut times) = (Nanos::ZERO, Nanos::ZERO, 0);
    lock(&bench.world).running = 1;
    for _ in 0..60_000 {
        let before = bench.cpu.wants_hold();
        bench.step();
        let is_held = bench.cpu.wants_hold();
        times += u32::from(is_held && !before);
        held = if is_held { held.plus(MILLI) } else { Nanos::ZERO };
        most = most.max(held);
    }
    assert!(times > 2, "{times}");
    assert!(most <= longest.plus(MILLI.times(2)), "{most}");
    assert!(bench.cpu.summary(bench.now).tested_ns > 0);
}

#[test]
fn nothing_is_withheld_where_the_job_cannot_be_held() {
    let mut bench = Bench::new(None);
    lock(&bench.world).running = 1;
    for _ in 0..20_000 {
        bench.step();
        assert!(!bench.cpu.wants_hold());
    }
}

#[test]
fn a_kernel_that_refuses_leaves_the_job_all_cpus_and_lull_goes_on() {
    let mut bench = Bench::new(None);
    lock(&bench.world).refuses = true;
    bench.pass(1, Nanos::from_secs(2));
    assert_eq!(bench.lent().len(), CPUS as usize);
    lock(&bench.world).refuses = false;
    bench.pass(1, Nanos::from_secs(2));
    assert!(bench.lent().len() < CPUS as usize, "and tries again");
}
