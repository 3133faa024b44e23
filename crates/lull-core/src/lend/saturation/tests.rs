use super::*;

const STEP: Nanos = Nanos::from_millis(5);
const LENT: Rung = Rung { first: 2, second: 6 };

struct Bench {
    saturation: Saturation,
    now: Nanos,
}

impl Bench {
    fn new() -> Self {
        Self { saturation: Saturation::new(), now: Nanos(1) }
    }

    /// Looks for so many milliseconds at a foreground of half a load, until something is told.
    fn look(&mut self, millis: u64, busy: bool, lent: bool) -> Option<Sign> {
        self.look_at(millis, Look { busy, lent, load: 0.5 })
    }

    fn look_at(&mut self, millis: u64, look: Look) -> Option<Sign> {
        (0..millis / 5).find_map(|_| {
            self.now = self.now.plus(STEP);
            self.saturation.look(self.now, look)
        })
    }

    fn suspect(&mut self) {
        self.look(5, false, true);
        assert_eq!(self.look(1_000, true, true), Some(Sign::Suspect));
        self.saturation.judge(self.now, LENT);
    }
}

#[test]
fn a_server_that_falls_idle_now_and_then_is_no_suspect() {
    let mut bench = Bench::new();
    for _ in 0..100 {
        assert_eq!(bench.look(900, true, true), None);
        assert_eq!(bench.look(5, false, true), None);
    }
}

#[test]
fn one_that_falls_idle_only_while_all_is_withheld_is_a_suspect() {
    let mut bench = Bench::new();
    for _ in 0..4 {
        assert_eq!(bench.look(200, true, true), None);
        assert_eq!(bench.look(50, true, false), None);
        assert_eq!(bench.look(10, false, false), None);
    }
    assert_eq!(bench.look(500, true, true), Some(Sign::Suspect));
}

#[test]
fn one_that_falls_idle_in_the_shelter_was_overrun() {
    let mut bench = Bench::new();
    bench.suspect();
    assert_eq!(bench.look(2_000, true, false), None);
    assert_eq!(bench.look(5, false, false), None);
    assert_eq!(bench.look(20_000, true, false), None, "it stays sheltered, and no verdict follows");
    assert_eq!(bench.look(5, false, true), None);
    assert_eq!(bench.look(1_000, true, true), Some(Sign::Suspect), "and is watched again once lent to");
}

#[test]
fn one_that_is_busy_in_the_shelter_is_acquitted_and_excused_for_longer_each_time() {
    let mut bench = Bench::new();
    let mut excused = Vec::new();
    for _ in 0..3 {
        bench.suspect();
        assert_eq!(bench.look(10_000, true, false), Some(Sign::Acquitted(LENT)));
        let from = bench.now;
        while bench.look(5, false, true).is_none() && bench.look(1_000, true, true).is_none() {}
        excused.push(bench.now.since(from));
    }
    assert!(
        excused[0] >= EXCUSED && excused[1] >= EXCUSED.times(2) && excused[2] >= EXCUSED.times(4),
        "{excused:?}"
    );
}

#[test]
fn one_that_never_falls_idle_is_no_suspect() {
    assert_eq!(Bench::new().look(100_000, true, true), None);
    let mut bench = Bench::new();
    bench.look(5, false, false);
    bench.look(31_000, true, false);
    assert_eq!(bench.look(2_000, true, true), None, "that it did is long ago");
}

#[test]
fn work_that_begins_after_rest_is_no_overrun_server() {
    let mut bench = Bench::new();
    bench.look(1_000, false, true);
    assert_eq!(bench.look_at(20_000, Look { busy: true, lent: true, load: 0.05 }), None);
}

#[test]
fn a_foreground_that_leaves_ends_what_was_begun() {
    let mut bench = Bench::new();
    bench.suspect();
    bench.saturation.interrupt(bench.now);
    assert_eq!(bench.look(10_000, true, false), None, "nobody is judged any more");
    bench.look(5, false, true);
    bench.look(900, true, true);
    bench.saturation.interrupt(bench.now);
    assert_eq!(bench.look(900, true, true), None, "a streak does not outlast its pause");
}
