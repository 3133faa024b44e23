use super::*;

const START: u64 = 100;
const END: u64 = 110;

/// A class that served one request from 100 to 110, with `in_service` more since.
fn served(in_service: u32) -> ClassView {
    ClassView {
        in_service,
        started: 1 + u64::from(in_service),
        ended: 1,
        last_start: Nanos(START),
        last_end: Nanos(END),
        ..ClassView::default()
    }
}

fn letter(
    foreground: ClassView,
    background: ClassView,
    interval: Interval,
    variant: &str,
    rule: StartRule,
    now: u64,
) -> char {
    let observation = Observation { foreground, background };
    derive_state(&observation, interval, variant.parse().unwrap(), rule, Nanos(now)).letter()
}

#[test]
fn foreground_over_interval_over_background_over_idle() {
    let interval = Interval::Finite(Nanos(20));
    let never = ClassView::default();
    let cases = [
        ('F', served(1), served(1), 115),
        ('P', served(0), served(1), 129),
        ('B', served(0), served(1), 130),
        ('I', served(0), served(0), 130),
        ('I', never, served(0), 111),
        ('I', never, never, 0),
    ];
    for (expected, foreground, background, now) in cases {
        assert_eq!(
            letter(foreground, background, interval, "bb-bi", StartRule::Completion, now),
            expected,
            "at {now}"
        );
    }
}

#[test]
fn the_request_rule_counts_from_the_arrival() {
    let interval = Interval::Finite(Nanos(12));
    for (now, completion, request) in [(111, 'P', 'P'), (112, 'P', 'I'), (121, 'P', 'I'), (122, 'I', 'I')] {
        let at = |rule| letter(served(0), ClassView::default(), interval, "bb-bi", rule, now);
        assert_eq!((at(StartRule::Completion), at(StartRule::Request)), (completion, request), "at {now}");
    }
}

#[test]
fn background_starts_the_interval_as_the_variant_says() {
    let interval = Interval::Finite(Nanos(20));
    for (variant, more, none) in
        [("bb-bi", 'B', 'I'), ("bb-bp", 'B', 'P'), ("bp-bi", 'P', 'P'), ("bp-bp", 'P', 'P')]
    {
        let at = |background, now| {
            letter(ClassView::default(), background, interval, variant, StartRule::Completion, now)
        };
        assert_eq!((at(served(0), 129), at(served(0), 130)), (none, 'I'), "{variant}: none in service");
        assert_eq!((at(served(1), 129), at(served(1), 130)), (more, 'B'), "{variant}: another in service");
    }
}

#[test]
fn both_ends_of_the_interval_are_exact() {
    for rule in StartRule::ALL {
        assert_eq!(letter(served(0), served(1), Interval::NONE, "bp-bp", rule, END), 'B');
        assert_eq!(letter(served(0), served(1), Interval::Infinite, "bb-bi", rule, u64::MAX), 'P');
        assert_eq!(letter(ClassView::default(), served(1), Interval::Infinite, "bb-bi", rule, u64::MAX), 'B');
    }
    let longest = Interval::Finite(Nanos::MAX);
    assert_eq!(
        letter(served(0), served(0), longest, "bb-bi", StartRule::Completion, u64::MAX - 1),
        'P',
        "saturates"
    );
}

#[test]
fn the_earliest_lull_is_where_the_state_changes() {
    let interval = Interval::Finite(Nanos(20));
    let at = |view: ClassView, interval, rule, leaving| {
        earliest_lull(&view, interval, rule, Nanos(leaving), Nanos(112)).0
    };
    use StartRule::{Completion, Request};
    // One waits and needs 5 more: the interval begins with its end, or began with its arrival at 100.
    assert_eq!(at(served(1), interval, Completion, 5), 137);
    assert_eq!(at(served(1), interval, Request, 5), 120);
    assert_eq!(at(served(1), interval, Request, 50), 162);
    // None waits: what is left of the interval.
    assert_eq!(at(served(0), interval, Completion, 5), 130);
    assert_eq!(at(served(0), interval, Request, 5), 120);
    assert_eq!(at(served(0), Interval::Finite(Nanos(5)), Request, 5), 112);
    // Never, at once, and for ever.
    assert_eq!(at(ClassView::default(), interval, Completion, 5), 112);
    assert_eq!(at(served(0), Interval::NONE, Completion, 5), 112);
    assert_eq!(at(served(1), Interval::NONE, Completion, 5), 117);
    assert_eq!(at(served(0), Interval::Infinite, Completion, 5), u64::MAX);
    assert_eq!(at(ClassView::default(), Interval::Infinite, Completion, 5), 112);
}

#[test]
fn until_the_earliest_lull_the_state_is_the_foregrounds() {
    for rule in StartRule::ALL {
        for length in [0, 1, 7, 20] {
            let interval = Interval::Finite(Nanos(length));
            for now in END..END + 30 {
                let lull = earliest_lull(&served(0), interval, rule, Nanos::ZERO, Nanos(now)).0;
                let held = |at| letter(served(0), served(0), interval, "bb-bi", rule, at) == 'P';
                assert!((now..lull).all(held), "held until {lull} from {now}");
                assert!(!held(lull), "left at {lull}");
            }
        }
    }
}
