use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A job that does what it is told in each sample of 100 ms.
struct Run {
    manners: Manners,
    now: Nanos,
    done: Progress,
}

impl Run {
    fn new() -> Self {
        let mut manners = Manners::new(MannersSetting::default());
        assert_eq!(manners.step(ms(1_000), Progress::default(), true), None);
        Self { manners, now: ms(1_000), done: Progress::default() }
    }

    fn sample(&mut self, cpu: u64, kilobytes: u64) -> Option<HoldAction> {
        self.now = self.now.plus(ms(100));
        self.done.cpu = self.done.cpu.plus(ms(cpu));
        self.done.io_bytes += kilobytes * 1_000;
        self.manners.step(self.now, self.done, true)
    }

    /// Calibrated by a job that computes, undisturbed.
    fn computing() -> Self {
        let mut run = Self::new();
        run.calibrate(|_| (100, 0));
        run
    }

    /// Twenty counted samples; returns how long it took, and how much of that the job was held.
    fn calibrate(&mut self, work: impl Fn(u64) -> (u64, u64)) -> [Nanos; 2] {
        let (from, mut held) = (self.now, Nanos::ZERO);
        for n in 0..20 {
            assert_eq!(self.manners.state(), MannersState::Calibrating);
            let (cpu, kilobytes) = work(n);
            if self.sample(cpu, kilobytes) == Some(HoldAction::Hold) {
                assert_eq!(self.manners.state(), MannersState::Resting);
                held = held.plus(self.sit_out());
            }
        }
        assert_eq!(self.manners.state(), MannersState::Watching);
        [self.now.since(from), held]
    }

    /// Samples until the job is frozen.
    fn samples_to_freeze(&mut self, cpu: u64, kilobytes: u64) -> usize {
        (1..200).find(|_| self.sample(cpu, kilobytes) == Some(HoldAction::Hold)).unwrap()
    }

    /// Lets the suspension run out; returns how long it was.
    fn sit_out(&mut self) -> Nanos {
        let from = self.now;
        self.now = self.manners.next_wake(self.now);
        assert_eq!(self.manners.step(self.now, self.done, true), Some(HoldAction::Release));
        assert_eq!(self.sample(0, 0), None, "the first sample after a suspension is not counted");
        self.now.since(from).since(ms(100))
    }
}

#[test]
fn usual_progress_is_never_held() {
    let mut run = Run::computing();
    for n in 0..10_000_u64 {
        assert_eq!(run.sample(95 + n % 10, 0), None, "sample {n}");
    }
}

#[test]
fn halved_progress_is_noticed_and_backed_off_from_ever_longer() {
    let mut run = Run::computing();
    let mut suspensions = Vec::new();
    for _ in 0..4 {
        assert_eq!(run.samples_to_freeze(50, 0), 5, "five poor samples are a proof");
        suspensions.push(run.sit_out());
    }
    assert_eq!(suspensions, [ms(500), ms(1_000), ms(2_000), ms(4_000)]);
    // The crowd has gone: the next suspension is short again.
    for _ in 0..5 {
        assert_eq!(run.sample(100, 0), None);
    }
    assert_eq!(run.manners.backoff(), ms(500));
}

#[test]
fn a_job_on_probation_runs_for_half_of_the_time() {
    let [all, held] = Run::new().calibrate(|_| (100, 0));
    // Four rests of five samples; a sample after each is not counted. The last turn needs no rest.
    assert_eq!([all, held], [ms(4_400), ms(2_000)]);
    let mut manners =
        Manners::new(MannersSetting { probation: Share::percent(100), ..MannersSetting::default() });
    manners.step(ms(1_000), Progress::default(), true);
    for n in 1..=20 {
        let done = Progress { cpu: ms(100 * n), io_bytes: 0 };
        assert_eq!(manners.step(ms(1_000 + 100 * n), done, true), None, "no probation, sample {n}");
    }
    assert_eq!(manners.state(), MannersState::Watching);
}

#[test]
fn who_ends_in_a_rest_is_thawed() {
    let mut run = Run::new();
    assert_eq!(run.samples_to_freeze(100, 0), 4);
    assert_eq!(run.manners.finish(), Some(HoldAction::Release));
    assert_eq!(run.manners.state(), MannersState::Calibrating);
}

#[test]
fn suspensions_have_a_longest() {
    let mut run = Run::computing();
    let setting = MannersSetting::default();
    for _ in 0..10 {
        run.samples_to_freeze(10, 0);
        assert!(run.sit_out() <= setting.longest);
    }
    assert_eq!(run.manners.backoff(), setting.longest);
}

#[test]
fn a_job_that_alternates_between_computing_and_reading_is_judged_by_both() {
    let mut run = Run::new();
    let work = |n: u64| if (n / 10).is_multiple_of(2) { (100, 0) } else { (20, 40_000) };
    run.calibrate(work);
    for n in 20..400 {
        let (cpu, kilobytes) = work(n);
        assert_eq!(run.sample(cpu, kilobytes), None, "sample {n}");
    }
    // What was collected before the fall speaks for the job at first.
    assert!((5..=12).contains(&run.samples_to_freeze(10, 20_000)), "half the reading");
}

#[test]
fn a_job_that_wants_nothing_is_not_blamed() {
    let mut run = Run::computing();
    for _ in 0..100 {
        run.now = run.now.plus(ms(100));
        assert_eq!(run.manners.step(run.now, run.done, false), None);
    }
    assert_eq!(run.manners.state(), MannersState::Watching);
    // Who wants to and cannot is in a crowd.
    assert_eq!(run.samples_to_freeze(0, 0), 5);
}

#[test]
fn the_target_follows_a_lasting_change() {
    let mut run = Run::computing();
    // A program that becomes half as fast for good is suspended at first, and later left alone.
    let mut latest = 0;
    for n in 0..20_000 {
        if run.manners.state() == MannersState::Suspended {
            run.sit_out();
        }
        if run.sample(50, 0) == Some(HoldAction::Hold) {
            latest = n;
        }
    }
    assert!(latest > 5 && latest < 10_000, "last held at sample {latest}");
}

#[test]
fn who_is_held_at_the_end_is_thawed_once() {
    let mut run = Run::computing();
    run.samples_to_freeze(10, 0);
    assert_eq!(run.manners.finish(), Some(HoldAction::Release));
    assert_eq!(run.manners.finish(), None);
}

proptest! {
    #[test]
    fn holds_are_bounded_and_alternate(steps in prop::collection::vec((0_u64..200, 0_u64..9_000, 1_u64..900, any::<bool>()), 1..500)) {
        let setting = MannersSetting::default();
        let mut manners = Manners::new(setting);
        let (mut now, mut done, mut held) = (ms(1), Progress::default(), None);
        for (cpu, kilobytes, span, wants) in steps {
            now = now.plus(ms(span));
            if held.is_none() {
                done = Progress { cpu: done.cpu.plus(ms(cpu)), io_bytes: done.io_bytes + kilobytes * 1_000 };
            }
            match manners.step(now, done, wants) {
                Some(HoldAction::Hold) => {
                    prop_assert!(held.is_none());
                    held = Some(now);
                }
                Some(HoldAction::Release) => prop_assert!(held.take().is_some()),
                None => {}
            }
            prop_assert_eq!(held.is_some(), manners.state().is_held());
            prop_assert!(held.is_none_or(|since| now.since(since) < setting.longest));
            prop_assert!(manners.next_wake(now) >= now);
        }
    }
}
