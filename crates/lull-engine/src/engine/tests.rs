//! What the engine does with any resource, on a virtual clock.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use lull_core::Use;
use lull_linux::job::shared::Shared;

use super::*;
use crate::disk::calls::Terms;
use crate::lock::lock;
use crate::report::figures::SlowdownSummary;

/// What a test sees and says of its resource.
#[derive(Default)]
struct Seen {
    wants_hold: bool,
    lost_percent: u64,
    worked: Nanos,
    lost: Nanos,
    promise: Option<Loss>,
    was_held: bool,
    is_held: bool,
    tended: u64,
    has_ended: bool,
}

/// A resource of a folder of its own: a printer.
struct Printer(Arc<Mutex<Seen>>);

impl Resource for Printer {
    fn turn(&mut self, now: Nanos, was_held: bool) -> Option<Nanos> {
        lock(&self.0).was_held = was_held;
        Some(now.plus(Nanos::from_millis(7)))
    }

    fn follow(&mut self, _now: Nanos, is_held: bool) -> Option<Nanos> {
        lock(&self.0).is_held = is_held;
        None
    }

    fn tend(&mut self, _now: Nanos) {
        lock(&self.0).tended += 1;
    }

    fn wants_hold(&self) -> bool {
        lock(&self.0).wants_hold
    }

    fn accounts(&mut self) -> Vec<&mut dyn Account> {
        vec![self]
    }

    fn news(&mut self) -> Vec<News> {
        vec![News::Note("out of paper".to_owned())]
    }

    fn status(&self, _now: Nanos, status: &mut Status) {
        status.regulation = Some("prints".to_owned());
    }

    fn report(&self, _now: Nanos, report: &mut Report) {
        report.more.push("printed three pages".to_owned());
    }

    fn end(&mut self, _now: Nanos) {
        lock(&self.0).has_ended = true;
    }
}

impl Account for Printer {
    fn name(&self) -> &str {
        "printer"
    }

    fn usage(&mut self, _now: Nanos) -> Use {
        let mut seen = lock(&self.0);
        seen.worked = seen.worked.plus(TURN);
        seen.lost = seen.lost.plus(Nanos(TURN.0 * seen.lost_percent / 100));
        Use { contended: true, worked: seen.worked, lost: seen.lost }
    }

    fn set_promise(&mut self, promise: Loss) {
        lock(&self.0).promise = Some(promise);
    }

    fn slowdown(&self) -> Option<SlowdownSummary> {
        None
    }
}

const TURN: Nanos = Nanos::from_millis(100);

struct Bench {
    engine: Engine,
    now: Nanos,
}

impl Bench {
    fn new() -> Self {
        let job_processes = JobProcesses::of_supervisor(None);
        let terms = Terms {
            job_processes: job_processes.clone(),
            shared: Arc::new(Shared::new().unwrap()),
            pages: Default::default(),
            read_ahead: Default::default(),
            sleeps: Arc::default(),
            spares_the_oldest: true,
        };
        let sleeps = Arc::clone(&terms.sleeps);
        let engine = Engine::new(Disks::new(terms), Loss::percent(5), true, job_processes, sleeps);
        Self { engine, now: Nanos::from_secs(100) }
    }

    fn with_printer(&mut self) -> Arc<Mutex<Seen>> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        self.engine.register(Printer(Arc::clone(&seen)));
        seen
    }

    fn turns(&mut self, count: u32) -> Option<Nanos> {
        let mut next = None;
        for _ in 0..count {
            self.now = self.now.plus(TURN);
            next = self.engine.turn(self.now);
            self.engine.tend(self.now);
        }
        next
    }
}

#[test]
fn a_resource_is_registered_in_one_line_and_has_its_part_of_everything() {
    let mut bench = Bench::new();
    let seen = bench.with_printer();
    assert_eq!(bench.turns(1), Some(bench.now.plus(Nanos::from_millis(7))), "it says when to look again");
    assert_eq!(lock(&seen).tended, 1);
    assert_eq!(bench.engine.news(), [News::Note("out of paper".to_owned())]);
    assert_eq!(bench.engine.status(bench.now, Nanos::ZERO).regulation.as_deref(), Some("prints"));
    assert_eq!(bench.engine.report(bench.now).more, ["printed three pages"]);
    bench.engine.end(bench.now);
    assert!(lock(&seen).has_ended);
}

#[test]
fn one_resource_holds_the_job_for_all_and_everybody_knows() {
    let mut bench = Bench::new();
    let (first, second) = (bench.with_printer(), bench.with_printer());
    bench.turns(1);
    assert!(!bench.engine.wants_held(bench.now));
    lock(&second).wants_hold = true;
    bench.turns(1);
    assert!(bench.engine.wants_held(bench.now));
    assert!(lock(&first).is_held, "it is known within the turn in which it is decided");
    bench.turns(1);
    assert!(lock(&first).was_held && bench.engine.held(bench.now) == TURN);
    bench.engine.sleeps.store(true, Ordering::Relaxed);
    assert!(!bench.engine.wants_held(bench.now), "a machine that is about to sleep holds nothing");
    bench.engine.sleeps.store(false, Ordering::Relaxed);
    bench.engine.can_hold = false;
    assert!(!bench.engine.wants_held(bench.now), "nor does a run that cannot");
}

#[test]
fn who_loses_most_backs_off_when_the_sum_is_beyond_the_promise() {
    let mut bench = Bench::new();
    let (gentle, harsh) = (bench.with_printer(), bench.with_printer());
    lock(&gentle).lost_percent = 2;
    lock(&harsh).lost_percent = 4;
    bench.turns(200);
    assert_eq!(lock(&gentle).promise, Some(Loss::percent(5)), "it may lose the whole");
    let left = lock(&harsh).promise.unwrap();
    assert!(left < Loss::percent(4) && left >= Loss::ppm(12_500), "{left:?}");
    let whole = bench.engine.report(bench.now).whole.unwrap();
    assert!(whole.lost > 0.05 && whole.parts.len() == 2, "{whole:?}");
}
