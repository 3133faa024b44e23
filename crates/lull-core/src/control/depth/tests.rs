use super::*;

fn at(secs: u64) -> Nanos {
    Nanos::from_secs(secs)
}

/// A bound that harms nobody and gains in proportion.
fn harmless() -> Evidence {
    Evidence {
        loaded: 500,
        loss: 0.001,
        error: 0.0005,
        free: 0.01,
        tail: Tail::Fine,
        services: 500,
        service: 80_000.0,
        in_use: true,
    }
}

fn harmful() -> Evidence {
    Evidence { loss: 0.05, ..harmless() }
}

fn raised_to(depth: u32, now: Nanos) -> Search {
    let mut search = Search::default();
    while search.depth() < depth {
        assert!(search.judge(now, &harmless()));
    }
    search
}

#[test]
fn the_bound_rises_by_one_while_the_foreground_does_not_notice() {
    let search = raised_to(5, at(1));
    assert_eq!(search.depth(), 5);
}

#[test]
fn the_bound_stays_without_enough_evidence_or_use() {
    for evidence in [
        Evidence { loaded: 99, ..harmless() },
        Evidence { services: 99, ..harmless() },
        Evidence { in_use: false, ..harmless() },
        Evidence { loss: 0.006, ..harmless() },
        Evidence { error: 0.02, ..harmless() },
        Evidence { tail: Tail::Strained, ..harmless() },
    ] {
        let mut search = Search::default();
        assert!(!search.judge(at(1), &evidence), "{evidence:?}");
        assert_eq!(search.depth(), 1);
    }
}

#[test]
fn harm_halves_the_bound_and_one_is_the_end() {
    for evidence in [harmful(), Evidence { tail: Tail::Suffers, ..harmless() }] {
        let mut search = raised_to(8, at(1));
        let mut seen = Vec::new();
        while search.judge(at(2), &evidence) {
            seen.push(search.depth());
        }
        assert_eq!(seen, [4, 2, 1]);
    }
    let mut search = raised_to(4, at(1));
    assert!(!search.judge(at(2), &Evidence { error: 0.03, ..harmful() }), "within the error it is no harm");
}

#[test]
fn a_queue_that_only_grows_is_given_up() {
    let mut search = raised_to(2, at(1));
    let twice_as_long = Evidence { service: 160_000.0, ..harmless() };
    assert!(search.judge(at(1), &twice_as_long));
    assert_eq!(search.depth(), 1);
    assert!(!search.judge(at(2), &harmless()), "not tried again at once");
    assert!(search.judge(at(6), &harmless()), "but after the back-off");
}

#[test]
fn the_back_off_doubles_with_each_failure_of_the_same_bound() {
    let mut search = raised_to(2, at(0));
    let mut now = Nanos::ZERO;
    let mut waits = Vec::new();
    for _ in 0..9 {
        assert!(search.judge(now, &harmful()));
        let failed = now;
        while !search.judge(now, &harmless()) {
            now = now.plus(at(1));
        }
        waits.push(now.since(failed).0 / at(1).0);
    }
    assert_eq!(waits, [4, 8, 16, 32, 64, 128, 256, 300, 300]);
}
