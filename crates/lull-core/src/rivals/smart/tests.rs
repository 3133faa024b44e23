use proptest::prelude::*;

use super::*;

fn sec(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

fn short() -> SmartSetting {
    SmartSetting { windows: 4, ..SmartSetting::with_window(sec(1)) }
}

/// A foreground whose utilisation in second `n` is `busy(n)` percent of one CPU, and the scheduler's answers.
struct Run {
    smart: Smart,
    now: Nanos,
    used: Nanos,
}

impl Run {
    fn new(setting: SmartSetting) -> Self {
        let mut smart = Smart::new(setting);
        assert_eq!(smart.step(sec(100), Nanos::ZERO), Some(HoldAction::Hold), "it begins alone");
        Self { smart, now: sec(100), used: Nanos::ZERO }
    }

    fn window(&mut self, percent: u64) -> Option<HoldAction> {
        self.now = self.now.plus(sec(1));
        self.used = self.used.plus(Nanos::from_millis(10 * percent));
        self.smart.step(self.now, self.used)
    }

    /// Characterised by these windows alone and beside.
    fn learnt(alone: [u64; 4], beside: [u64; 4]) -> Self {
        let mut run = Self::new(short());
        for percent in &alone[..3] {
            assert_eq!(run.window(*percent), None);
        }
        assert_eq!(run.window(alone[3]), Some(HoldAction::Release), "then beside");
        assert_eq!(run.smart.state(), SmartState::Beside);
        for percent in beside {
            assert_eq!(run.window(percent), None);
        }
        assert_eq!(run.smart.state(), SmartState::Active);
        run
    }
}

#[test]
fn characterisation_finds_means_and_bursty_windows() {
    let run = Run::learnt([10, 50, 50, 10], [80, 20, 20, 40]);
    let [alone, beside] = run.smart.character().unwrap();
    assert!((alone.mean - 0.3).abs() < 1e-9 && alone.burst == 2.0, "{alone:?}");
    assert!((beside.mean - 0.4).abs() < 1e-9 && beside.burst == 1.0, "{beside:?}");
}

#[test]
fn a_wave_suspends_for_its_bursty_window_and_calm_resumes() {
    let mut run = Run::learnt([10, 50, 50, 10], [10, 50, 50, 10]);
    assert_eq!(run.window(10), None, "calm");
    assert_eq!(run.window(60), Some(HoldAction::Hold), "at or above the mean beside");
    assert_eq!(run.window(60), None, "the first of two windows");
    assert_eq!(run.window(60), None, "looked at, and still high: two more");
    assert_eq!(run.smart.state(), SmartState::Suspended);
    assert_eq!(run.window(10), None, "not looked at yet");
    assert_eq!(run.window(10), Some(HoldAction::Release));
    assert_eq!(run.smart.state(), SmartState::Active);
}

#[test]
fn the_mean_of_each_half_judges_its_own_state() {
    // Alone the foreground uses 20% on average, beside the job 60%.
    let mut run = Run::learnt([20, 20, 30, 10], [60, 60, 70, 50]);
    assert_eq!(run.window(40), None, "below the mean beside, above the mean alone");
    assert_eq!(run.window(70), Some(HoldAction::Hold));
    run.window(40);
    run.window(40);
    assert_eq!(run.smart.state(), SmartState::Suspended, "above the mean alone");
}

#[test]
fn a_foreground_that_does_nothing_suspends_nobody() {
    let mut run = Run::learnt([0; 4], [0; 4]);
    for _ in 0..100 {
        assert_eq!(run.window(0), None);
    }
}

#[test]
fn a_foreground_that_never_rests_holds_no_longer_than_the_longest() {
    let mut run = Run::learnt([50; 4], [50; 4]);
    let mut held = 0;
    for _ in 0..119 {
        run.window(50);
        held = if run.smart.state().is_held() { held + 1 } else { 0 };
        assert!(held <= 31, "held for {held} windows");
    }
}

#[test]
fn time_and_restart_return_to_characterisation() {
    let mut run = Run::learnt([10; 4], [10; 4]);
    for _ in 0..120 {
        run.window(0);
    }
    assert_eq!(run.smart.state(), SmartState::Alone, "the period is over");
    let mut run = Run::learnt([10; 4], [10; 4]);
    run.smart.restart();
    assert_eq!(run.window(0), Some(HoldAction::Hold));
    assert_eq!(run.smart.state(), SmartState::Alone);
    assert_eq!(run.smart.finish(), Some(HoldAction::Release));
    assert_eq!(run.smart.finish(), None);
}

#[test]
fn nothing_is_decided_within_a_window() {
    let mut run = Run::new(short());
    assert_eq!(run.smart.next_wake(run.now), sec(101));
    let now = run.now.plus(Nanos::from_millis(999));
    assert_eq!(run.smart.step(now, sec(1)), None);
    assert_eq!(run.smart.next_wake(now), sec(101));
}

proptest! {
    /// Whatever the foreground does and however late it is looked at: actions alternate, and no hold outlasts its bound.
    #[test]
    fn holds_are_bounded_and_alternate(windows in prop::collection::vec((0_u64..200, 1_u64..40), 1..400)) {
        let setting = short();
        let mut smart = Smart::new(setting);
        let (mut now, mut used, mut held) = (sec(5), Nanos::ZERO, None);
        for (percent, tenths) in windows {
            let span = Nanos::from_millis(100 * tenths);
            now = now.plus(span);
            used = used.plus(Nanos(span.0 / 100 * percent));
            match smart.step(now, used) {
                Some(HoldAction::Hold) => {
                    prop_assert!(held.is_none());
                    held = Some(now);
                }
                Some(HoldAction::Release) => prop_assert!(held.take().is_some()),
                None => {}
            }
            prop_assert_eq!(held.is_some(), smart.state().is_held());
            // The longest suspension may begin in one window and end in another; a characterisation may follow it.
            let most = setting.longest.plus(sec(4).times(u64::from(setting.windows) + 2));
            prop_assert!(held.is_none_or(|since| now.since(since) <= most));
        }
    }
}
