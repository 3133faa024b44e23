use super::*;

/// A foreground of 2,400 requests per second that loses `loss` while background is lent. One request in twelve meets
/// background, and `delay` (in cycles) of the loss is what the sensor saw of it.
struct Scene {
    correction: Correction,
    now: Nanos,
    latency: Latency,
    random: u64,
    held: Nanos,
}

const CYCLE: f64 = 400_000.0;
const ALONE: f64 = 120_000.0;
const SERVICE: f64 = 200_000.0;
const STEP: Nanos = Nanos::from_millis(5);
const REQUESTS: u64 = 12;
const BACKGROUND: u64 = 4;

impl Scene {
    fn new() -> Self {
        Self {
            correction: Correction::new(Loss::percent(4)),
            now: Nanos::from_secs(1),
            latency: Latency::default(),
            random: 0x9E37_79B9_7F4A_7C15,
            held: Nanos::ZERO,
        }
    }

    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn run(&mut self, length: Nanos, loss: f64, delay: f64, background: u64) {
        let end = self.now.plus(length);
        let model = Model { delay: delay * CYCLE, cycle: CYCLE, service: SERVICE };
        while self.now < end {
            self.now = self.now.plus(STEP);
            let lent = !self.correction.withholds();
            for _ in 0..REQUESTS {
                let exponential = -(1.0 - self.uniform()).ln();
                let extra = if lent { loss * CYCLE } else { 0.0 };
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "microseconds")]
                let time = (ALONE * (0.5 + 0.5 * exponential) + extra) as u64;
                self.latency.requests += 1;
                self.latency.sum_ns += time;
            }
            if lent {
                self.latency.met += u64::from(background > 0);
                self.latency.background += background;
            } else {
                self.held = self.held.plus(STEP);
            }
            self.correction.step(self.now, &self.latency, Some(&model));
        }
    }

    /// The loss that is put down to background requests, beyond what the sensor saw.
    fn found(&self) -> f64 {
        self.correction.part() * (BACKGROUND as f64 / REQUESTS as f64) * SERVICE / CYCLE
    }
}

#[test]
fn harm_that_the_sensor_misses_is_found_within_seconds() {
    let mut scene = Scene::new();
    scene.run(Nanos::from_secs(10), 0.15, 0.04, BACKGROUND);
    assert!((0.11..0.18).contains(&scene.found()), "{}", scene.found());
    assert!(scene.correction.slowdown().unwrap().low > 1.0);
}

#[test]
fn what_the_sensor_saw_is_not_counted_twice() {
    let mut scene = Scene::new();
    scene.run(Nanos::from_secs(20), 0.05, 0.6, BACKGROUND);
    assert!(scene.found() < 0.02, "{}", scene.found());
}

#[test]
fn background_that_does_no_harm_is_not_charged() {
    let mut scene = Scene::new();
    scene.run(Nanos::from_secs(20), 0.0, 0.0, BACKGROUND);
    assert!(scene.found() < 0.015, "{}", scene.found());
}

#[test]
fn without_background_nothing_is_held_and_nothing_learnt() {
    let mut scene = Scene::new();
    scene.run(Nanos::from_secs(5), 0.0, 0.1, 0);
    assert_eq!(scene.held, Nanos::ZERO);
    assert!(scene.correction.part().abs() < 1e-9);
}

#[test]
fn one_hiccup_decides_nothing() {
    let mut scene = Scene::new();
    scene.run(Nanos::from_secs(10), 0.10, 0.04, BACKGROUND);
    let before = scene.found();
    scene.latency.sum_ns += 500_000_000;
    scene.run(Nanos::from_secs(1), 0.10, 0.04, BACKGROUND);
    let after = scene.found();
    assert!((after - before).abs() < 0.04, "{before} {after}");
}

#[test]
fn a_restart_forgets_what_was_found() {
    let mut scene = Scene::new();
    scene.run(Nanos::from_secs(10), 0.15, 0.04, BACKGROUND);
    scene.correction.restart();
    assert!(scene.correction.part().abs() < 1e-9);
}
