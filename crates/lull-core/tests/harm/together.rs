//! One promise over two resources: a disk under control and CPUs that are lent, both of known harm, on one clock.
//!
//! The disk serves one request at a time. Its foreground thinks for a random time and meets the background request that is in
//! service when it comes: it loses what is left of it. The CPUs are those of [`scene`](crate::scene).

use lull_core::{
    Control, ControlSetting, DepthChoice, Division, Interval, Loss, Nanos, PromiseChange, Setting, Telemetry,
    Use,
};

use crate::foreground::{Dice, Service};
use crate::scene::{Effect, Scene, streams};

const PROMISE: Loss = Loss::percent(5);
/// Of the promise, what control of a disk aims at.
const OF_DISK: Loss = Loss::percent(80);
/// How often everything is looked at.
const LOOK: Nanos = Nanos::from_millis(100);
const THINK_MS: f64 = 20.0;
const SERVICE_MS: f64 = 1.5;
/// Of a background request.
const BACKGROUND_MS: f64 = 4.0;

struct Disk {
    control: Control,
    telemetry: Telemetry,
    setting: Setting,
    now: Nanos,
    dice: Dice,
    /// What was truly lost.
    lost_ms: f64,
    updated: Nanos,
}

impl Disk {
    fn new(seed: u64) -> Self {
        let aim = ControlSetting {
            budget: OF_DISK.of_loss(PROMISE),
            depth: DepthChoice::Fixed(1),
            ..ControlSetting::default()
        };
        let mut control = Control::new(aim);
        let telemetry = Telemetry::default();
        let setting = control.update(Nanos(1), &telemetry);
        let dice = Dice::new(seed);
        Self { control, telemetry, setting, now: Nanos(1), dice, lost_ms: 0.0, updated: Nanos(1) }
    }

    /// Whole requests until `end`, and one more. `greedy`: background is always there.
    fn run_until(&mut self, end: Nanos, greedy: bool) {
        while self.now < end {
            let gap_ms = THINK_MS * self.dice.exponential();
            let delay_ms = if greedy { self.serve_background(gap_ms) } else { None };
            let latency = ms(SERVICE_MS + delay_ms.unwrap_or(0.0));
            let told = &mut self.telemetry;
            let met = if delay_ms.is_some() { &mut told.loaded } else { &mut told.quiet };
            met.record(latency);
            told.gaps.record(ms(gap_ms));
            told.foreground_started += 1;
            self.lost_ms += delay_ms.unwrap_or(0.0);
            self.now = self.now.plus(ms(gap_ms)).plus(latency);
            told.foreground_last_end = self.now;
            if self.now.since(self.updated) >= Nanos::from_millis(25) {
                self.updated = self.now;
                self.setting = self.control.update(self.now, &self.telemetry);
            }
        }
    }

    /// Background one after the other from the interval on; what is left of the last one when the gap ends.
    fn serve_background(&mut self, gap_ms: f64) -> Option<f64> {
        let Interval::Finite(interval) = self.setting.interval else { return None };
        let (mut at_ms, mut left_ms) = (in_ms(interval), None);
        while at_ms < gap_ms {
            if let Some(closing) = self.setting.closing
                && at_ms >= in_ms(closing.from)
                && at_ms < in_ms(closing.until)
            {
                at_ms = in_ms(closing.until);
                continue;
            }
            self.telemetry.background_started += 1;
            self.telemetry.service.record(ms(BACKGROUND_MS));
            at_ms += BACKGROUND_MS;
            left_ms = Some(at_ms - gap_ms).filter(|left| *left > 0.0);
        }
        left_ms
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a model are positive")]
fn ms(span: f64) -> Nanos {
    Nanos((span * 1e6) as u64)
}

fn in_ms(span: Nanos) -> f64 {
    span.0 as f64 / 1e6
}

/// A share of a share.
trait OfLoss {
    fn of_loss(self, whole: Loss) -> Loss;
}

impl OfLoss for Loss {
    fn of_loss(self, whole: Loss) -> Loss {
        Loss::ppm(whole.as_ppm() / 100 * (self.as_ppm() / 10_000))
    }
}

struct Both {
    disk: Disk,
    cpu: Scene,
    division: Option<Division>,
    now: Nanos,
    /// What was truly lost between two looks: on the disk, on the CPUs, as shares.
    lost: Vec<(f64, f64)>,
    steps_seen: usize,
}

impl Both {
    /// `divided`: one promise for both, not one for each.
    fn new(effect: Effect, divided: bool, seed: u64) -> Self {
        Self {
            disk: Disk::new(seed),
            cpu: Scene::new(effect, Service::LogNormal(0.2), seed),
            division: divided.then(|| Division::new(PROMISE)),
            now: Nanos(1),
            lost: Vec::new(),
            steps_seen: 0,
        }
    }

    fn run(&mut self, seconds: u64, uses_disk: bool) {
        for _ in 0..seconds * 10 {
            self.divide(uses_disk);
            self.now = self.now.plus(LOOK);
            let before_ms = self.disk.lost_ms;
            self.disk.run_until(self.now, uses_disk);
            self.cpu.run_for(self.now.since(self.cpu.now));
            let of_cpu: f64 = self.cpu.steps[self.steps_seen..].iter().map(|(_, lost)| lost).sum();
            self.steps_seen = self.cpu.steps.len();
            self.lost.push(((self.disk.lost_ms - before_ms) / in_ms(LOOK), of_cpu / LOOK.0 as f64));
        }
    }

    fn divide(&mut self, uses_disk: bool) {
        let Some(division) = &mut self.division else { return };
        let (disk, cpu) = (self.disk.control.budget(), &self.cpu.budget);
        let uses = [
            Use { contended: uses_disk, worked: disk.worked(), lost: disk.lost() },
            Use { contended: self.cpu.lender.at_work(), worked: cpu.worked(), lost: cpu.lost() },
        ];
        for PromiseChange { resource, promise, forfeits } in division.look(self.now, &uses) {
            if resource == 0 {
                if forfeits {
                    self.disk.control.forfeit();
                }
                self.disk.control.set_promise(OF_DISK.of_loss(promise));
            } else {
                if forfeits {
                    self.cpu.budget.forfeit();
                }
                self.cpu.lender.set_promise(promise, &mut self.cpu.budget);
            }
        }
    }

    /// What was lost on the disk, on the CPUs, and on both in the worst minute.
    fn losses(&self) -> (f64, f64, f64) {
        let mean = |losses: &[(f64, f64)]| {
            let sum = losses.iter().fold((0.0, 0.0), |sum, lost| (sum.0 + lost.0, sum.1 + lost.1));
            (sum.0 / losses.len() as f64, sum.1 / losses.len() as f64)
        };
        let worst = self.lost.windows(600).map(|window| mean(window).0 + mean(window).1).fold(0.0, f64::max);
        let (disk, cpu) = mean(&self.lost);
        (disk, cpu, worst)
    }
}

/// No harm on any rung.
fn harmless(_: lull_core::Rung) -> (f64, f64) {
    (0.0, 1.0)
}

#[test]
fn a_promise_for_each_is_broken_by_both_and_one_for_both_is_kept() {
    let promise = PROMISE.fraction();
    for seed in 0..4 {
        let losses = |divided| {
            let mut both = Both::new(streams, divided, seed);
            both.run(300, true);
            both.losses()
        };
        let (disk, cpu, worst) = losses(false);
        assert!(disk < promise && cpu < promise, "run {seed}: each keeps its own: {disk:.4}, {cpu:.4}");
        assert!(worst > 1.1 * promise, "run {seed}: both lost {worst:.4} in the worst minute");
        let (disk, cpu, worst) = losses(true);
        assert!(worst <= promise, "run {seed}: {worst:.4} in the worst minute");
        assert!(disk > 0.01 && cpu > 0.005, "run {seed}: both get some: {disk:.4}, {cpu:.4}");
    }
}

#[test]
fn where_the_cpus_lose_nothing_the_disk_has_nearly_all() {
    for seed in 0..4 {
        let losses = |divided| {
            let mut both = Both::new(harmless, divided, seed);
            both.run(300, true);
            both.losses()
        };
        let ((alone, ..), (disk, _, worst)) = (losses(false), losses(true));
        assert!(disk > 0.75 * alone && worst <= PROMISE.fraction(), "run {seed}: {disk:.4} of {alone:.4}");
    }
}

#[test]
fn where_the_job_leaves_the_disk_alone_the_cpus_are_lent_as_if_there_were_none() {
    for seed in 0..4 {
        let run = |divided| {
            let mut both = Both::new(streams, divided, seed);
            both.run(120, false);
            (both.cpu.lender.status(&both.cpu.budget), both.lost)
        };
        assert_eq!(run(false), run(true), "run {seed}");
    }
}
