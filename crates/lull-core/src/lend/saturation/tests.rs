use super::*;

const STEP: Nanos = Nanos::from_millis(5);
const LENT: Rung = Rung { first: 2, second: 6 };
const SOME: Nanos = Nanos::from_secs(20);

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
        self.look_at(millis, Look { busy, lent, load: Some(0.5) })
    }

    fn look_at(&mut self, millis: u64, look: Look) -> Option<Sign> {
        (0..millis / 5).find_map(|_| {
            self.now = self.now.plus(STEP);
            self.saturation.look(self.now, look)
        })
    }

    fn suspect(&mut self) {
        self.look(5, false, true);
        assert_eq!(self.look(1_100, true, true), Some(Sign::Suspect));
        self.saturation.judge(self.now, LENT);
    }

    fn convict(&mut self) {
        self.suspect();
        assert_eq!(self.look(2_000, true, false), None, "what queued up is served");
        assert!(matches!(self.look(200, false, false), Some(Sign::Overrun(LENT, span)) if span >= STREAK));
        self.saturation.convict(LENT, self.now.plus(SOME));
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
fn one_that_falls_idle_in_the_shelter_was_overrun_and_is_lent_to_again_after_a_while() {
    let mut bench = Bench::new();
    bench.convict();
    assert_eq!(bench.look(19_000, false, false), None);
    assert_eq!(bench.look(2_000, false, false), Some(Sign::LendAgain(LENT)));
    bench.suspect();
}

#[test]
fn one_idle_look_in_the_shelter_proves_nothing() {
    let mut bench = Bench::new();
    bench.suspect();
    assert_eq!(bench.look(3_000, true, false), None);
    assert_eq!(bench.look(5, false, false), None);
    assert_eq!(bench.look(20_000, true, false), Some(Sign::BusyByItself(LENT)));
}

#[test]
fn one_that_computes_for_seconds_by_itself_is_found_out_in_the_shelter_and_left_alone_from_then_on() {
    let mut bench = Bench::new();
    bench.convict();
    let mut sign = None;
    while sign.is_none() {
        sign = bench.look(3_000, true, false).or_else(|| bench.look(500, false, false));
    }
    assert_eq!(sign, Some(Sign::LendAgain(LENT)));
    for _ in 0..1_000 {
        assert_eq!(bench.look(3_000, true, true), None);
        assert_eq!(bench.look(500, false, true), None);
    }
}

#[test]
fn one_that_is_busy_in_the_shelter_is_acquitted_and_excused_for_longer_each_time() {
    let mut bench = Bench::new();
    let mut excused = Vec::new();
    assert_eq!(bench.look(6_000, true, true), Some(Sign::Suspect), "it was never seen idle");
    for _ in 0..3 {
        bench.saturation.judge(bench.now, LENT);
        assert_eq!(bench.look(61_000, true, false), Some(Sign::BusyByItself(LENT)));
        let from = bench.now;
        while bench.look(1_000, true, true).is_none() {}
        excused.push(bench.now.since(from));
    }
    let at_least = |times: u64| EXCUSED.times(times);
    assert!(
        excused[0] >= at_least(1) && excused[1] >= at_least(2) && excused[2] >= at_least(4),
        "{excused:?}"
    );
}

#[test]
fn work_that_begins_after_rest_is_no_overrun_server() {
    let mut bench = Bench::new();
    bench.look(1_000, false, true);
    assert_eq!(bench.look_at(20_000, Look { busy: true, lent: true, load: Some(0.05) }), None);
}

#[test]
fn one_of_which_nothing_is_known_is_tried_out_after_some_seconds() {
    let mut bench = Bench::new();
    assert_eq!(bench.look_at(1_900, Look { busy: true, lent: true, load: None }), None);
    assert_eq!(bench.look_at(200, Look { busy: true, lent: true, load: None }), Some(Sign::Suspect));
}

#[test]
fn a_foreground_that_leaves_ends_what_was_begun() {
    let mut bench = Bench::new();
    bench.suspect();
    assert_eq!(bench.saturation.interrupt(), Some(Sign::LendAgain(LENT)));
    assert_eq!(bench.look(10_000, true, false), None, "nobody is judged any more");
    bench.look(5, false, true);
    bench.look(900, true, true);
    assert_eq!(bench.saturation.interrupt(), None);
    assert_eq!(bench.look(900, true, true), None, "a streak does not outlast its pause");
}

#[test]
fn times_in_which_nobody_looked_are_not_taken_for_busy() {
    let mut bench = Bench::new();
    bench.look(5, false, true);
    for _ in 0..20 {
        assert_eq!(bench.look(25, true, false), None);
        bench.now = bench.now.plus(Nanos::from_millis(475));
        bench.saturation.resume();
    }
    bench.look(5, false, true);
    assert_eq!(bench.look(1_100, true, true), Some(Sign::Suspect), "as if there had been no such time");
}
