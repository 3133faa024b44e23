use proptest::prelude::*;

use super::*;

/// Looks one second apart at processes that use so many milliseconds per second.
struct Looks {
    watch: ChangeWatch,
    now: Nanos,
    busy: BTreeMap<i32, Nanos>,
}

impl Looks {
    fn new() -> Self {
        Self { watch: ChangeWatch::new(), now: Nanos::from_secs(5), busy: BTreeMap::new() }
    }

    fn look(&mut self, processes: &[(i32, &str, u64)], learning: bool) -> Option<Change> {
        self.now = self.now.plus(Nanos::from_secs(1));
        let seen: Vec<Seen> = processes
            .iter()
            .map(|(pid, application, ms)| {
                let busy = self.busy.entry(*pid).or_default();
                *busy = busy.plus(Nanos::from_millis(*ms));
                Seen { pid: *pid, application: (*application).to_owned(), busy: *busy }
            })
            .collect();
        self.watch.look(self.now, &seen, learning)
    }

    /// A database that works and a logger that hardly does were learnt.
    fn learnt() -> Self {
        let mut looks = Self::new();
        for _ in 0..4 {
            assert_eq!(looks.look(&[(10, "db:1", 300), (11, "log:1", 5)], true), None);
        }
        looks
    }
}

#[test]
fn the_foreground_that_was_learnt_is_no_change_however_busy_it_is() {
    let mut looks = Looks::learnt();
    for ms in [0, 900, 20, 2_000, 0, 0] {
        assert_eq!(looks.look(&[(10, "db:1", ms), (11, "log:1", ms)], false), None);
    }
}

#[test]
fn an_application_that_comes_and_works_is_a_change_once() {
    let mut looks = Looks::learnt();
    let with_web = |ms| [(10, "db:1", 300), (11, "log:1", 5), (20, "web:1", ms)];
    assert_eq!(looks.look(&with_web(500), false), None, "there is nothing to compare with");
    assert_eq!(looks.look(&with_web(500), false), None, "one window is a moment");
    assert_eq!(looks.look(&with_web(500), false), Some(Change::Added("web:1".into())));
    assert_eq!(looks.look(&with_web(500), true), None);
    assert_eq!(looks.look(&with_web(500), false), None, "known by now");
}

#[test]
fn what_uses_little_or_only_for_a_moment_comes_and_goes_unnoticed() {
    let mut looks = Looks::learnt();
    for n in 0..20 {
        let ms = if n % 2 == 0 { 500 } else { 50 };
        assert_eq!(looks.look(&[(10, "db:1", 300), (20, "cron:1", ms)], false), None, "look {n}");
        // A new process in every window never counts.
        assert_eq!(looks.look(&[(10, "db:1", 300), (100 + n, "cc:1", 900)], false), None);
    }
}

#[test]
fn an_application_that_fails_is_a_change_and_one_that_restarts_at_once_is_none() {
    let mut looks = Looks::learnt();
    assert_eq!(looks.look(&[(11, "log:1", 5)], false), None);
    assert_eq!(looks.look(&[(12, "db:1", 300), (11, "log:1", 5)], false), None, "restarted");
    assert_eq!(looks.look(&[(11, "log:1", 5)], false), None);
    assert_eq!(looks.look(&[(11, "log:1", 5)], false), Some(Change::Gone("db:1".into())));
    let mut looks = Looks::learnt();
    for _ in 0..5 {
        assert_eq!(looks.look(&[(10, "db:1", 300)], false), None, "the logger never mattered");
    }
}

#[test]
fn an_upgrade_is_a_change() {
    let mut looks = Looks::learnt();
    let changes: Vec<Change> =
        (0..3).filter_map(|_| looks.look(&[(30, "db:2", 300), (11, "log:1", 5)], false)).collect();
    assert_eq!(changes.first().map(ToString::to_string).as_deref(), Some("db:1 went"));
}

proptest! {
    #[test]
    fn while_learning_nothing_is_a_change(looks in prop::collection::vec(prop::collection::vec((0_i32..5, 0_u64..2_000), 0..6), 1..40)) {
        let mut run = Looks::new();
        for processes in looks {
            let named: Vec<(i32, String, u64)> = processes.iter().map(|(pid, ms)| (*pid, format!("app{pid}"), *ms)).collect();
            let seen: Vec<(i32, &str, u64)> = named.iter().map(|(pid, name, ms)| (*pid, name.as_str(), *ms)).collect();
            prop_assert_eq!(run.look(&seen, true), None);
        }
    }
}
