use super::*;
use crate::base::share::Share;
use crate::base::view::ClassView;
use crate::idletime::machine::{StartRule, Variant};
use crate::idletime::setting::Opening;

const MS: u64 = 1_000_000;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A resource and the sensor that watches it; times in milliseconds.
struct Bench {
    resource: Resource,
    sensor: Observation,
}

impl Bench {
    fn new(interval: Interval, depth: u32) -> Self {
        Self::with(Setting { interval, depth, ..Setting::default() })
    }

    fn with(setting: Setting) -> Self {
        Self { resource: Resource::new(setting), sensor: Observation::default() }
    }

    fn step(&mut self, at: u64, input: Input) -> Vec<u64> {
        let mut started = Vec::new();
        self.resource.step(ms(at), input, &mut started);
        started.into_iter().map(|ticket| ticket.0).collect()
    }

    fn arrive(&mut self, at: u64, ticket: u64) -> Vec<u64> {
        self.step(at, Input::Arrive(Ticket(ticket), LEAST_BYTES))
    }

    fn tick(&mut self, at: u64) -> Vec<u64> {
        self.step(at, Input::Tick)
    }

    fn class(&mut self, at: u64, background: bool, change: impl Fn(&mut ClassView)) -> Vec<u64> {
        change(if background { &mut self.sensor.background } else { &mut self.sensor.foreground });
        self.step(at, Input::Observe(self.sensor))
    }

    fn begin(&mut self, at: u64, background: bool) -> Vec<u64> {
        self.class(at, background, |class| {
            class.in_service += 1;
            class.started += 1;
            class.last_start = ms(at);
            class.started_bytes += LEAST_BYTES;
            class.in_service_bytes += LEAST_BYTES;
        })
    }

    fn end(&mut self, at: u64, background: bool) -> Vec<u64> {
        self.class(at, background, |class| {
            class.in_service -= 1;
            class.ended += 1;
            class.last_end = ms(at);
            class.in_service_bytes -= LEAST_BYTES;
        })
    }

    fn foreground(&mut self, from: u64, to: u64) -> Vec<u64> {
        let mut started = self.begin(from, false);
        started.extend(self.end(to, false));
        started
    }

    fn state(&self, at: u64) -> char {
        self.resource.state(ms(at)).letter()
    }
}

const NONE: [u64; 0] = [];

#[test]
fn background_waits_out_the_interval_and_starts_at_its_exact_end() {
    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.begin(100, false);
    assert_eq!(bench.arrive(101, 1), NONE);
    assert_eq!(bench.resource.wake(ms(101)), Wake { foreground_end: true, ..Wake::default() });
    assert_eq!(bench.end(105, false), NONE);
    assert_eq!(bench.resource.wake(ms(105)), Wake { at: Some(ms(115)), ..Wake::default() });
    assert_eq!((bench.state(114), bench.state(115)), ('P', 'I'));
    assert_eq!(bench.tick(114), NONE);
    assert_eq!(bench.tick(115), [1]);
    assert_eq!(bench.state(115), 'B');
}

#[test]
fn under_the_request_rule_the_interval_can_end_during_service() {
    let mut bench = Bench::with(Setting {
        interval: Interval::Finite(ms(10)),
        start_rule: StartRule::Request,
        ..Setting::default()
    });
    bench.arrive(99, 7);
    bench.begin(100, false);
    assert_eq!(bench.end(104, false), NONE);
    assert_eq!((bench.state(109), bench.state(110)), ('P', 'I'));
    bench.begin(105, false);
    assert_eq!(bench.arrive(106, 1), NONE);
    assert_eq!(bench.end(130, false), [1], "the interval was over before the service was");
}

#[test]
fn no_interval_is_plain_priority_and_an_infinite_one_ends_background() {
    let mut plain = Bench::new(Interval::NONE, 1);
    plain.begin(100, false);
    assert_eq!(plain.arrive(100, 1), NONE);
    assert_eq!(plain.end(105, false), [1]);

    let mut never = Bench::new(Interval::Infinite, 4);
    assert_eq!(never.arrive(1, 1), [1], "before any foreground");
    never.foreground(100, 105);
    assert_eq!(never.arrive(106, 2), NONE);
    assert_eq!(never.tick(1 << 40), NONE);
    assert_eq!(never.resource.wake(ms(1 << 40)), Wake::default());
}

#[test]
fn the_bound_counts_what_the_device_has_not_shown_yet() {
    let mut bench = Bench::new(Interval::NONE, 2);
    let granted = (1..=4).flat_map(|ticket| bench.arrive(10, ticket)).collect::<Vec<_>>();
    assert_eq!(granted, [1, 2]);
    assert_eq!(
        bench.resource.wake(ms(10)),
        Wake { at: Some(Nanos(10 * MS + 200_000)), background_end: true, foreground_end: false }
    );
    bench.sensor.background = ClassView {
        in_service: 2,
        started: 2,
        last_start: ms(10),
        started_bytes: 2 * LEAST_BYTES,
        in_service_bytes: 2 * LEAST_BYTES,
        ..ClassView::default()
    };
    assert_eq!(bench.step(10, Input::Observe(bench.sensor)), NONE);
    assert_eq!(bench.resource.wake(ms(10)), Wake { background_end: true, ..Wake::default() });
    assert_eq!(bench.end(11, true), [3]);
    assert_eq!(bench.resource.waiting(), 1);
    assert!(!bench.resource.admits(ms(11)));
}

#[test]
fn a_page_cache_hit_gives_its_place_back_on_return_or_after_settling() {
    let mut bench = Bench::new(Interval::NONE, 1);
    bench.arrive(10, 1);
    bench.arrive(10, 2);
    assert_eq!(bench.step(10, Input::Returned(Ticket(1))), [2]);
    bench.arrive(10, 3);
    assert_eq!(bench.tick(11), [3], "ticket 2 was granted 1 ms ago and the device never saw it");
}

#[test]
fn background_in_the_device_that_was_not_granted_takes_places_too() {
    let mut bench = Bench::new(Interval::NONE, 1);
    bench.begin(10, true);
    assert_eq!(bench.arrive(11, 1), NONE);
    assert_eq!(bench.end(12, true), [1]);
}

#[test]
fn a_request_withdrawn_while_it_waits_never_starts() {
    let mut bench = Bench::new(Interval::NONE, 1);
    bench.begin(10, false);
    bench.arrive(11, 1);
    bench.arrive(11, 2);
    bench.step(12, Input::Withdraw(Ticket(1)));
    assert_eq!(bench.end(13, false), [2]);
}

#[test]
fn the_variants_differ_only_in_what_follows_background() {
    // (after an end with one waiting, after an end with none waiting)
    for (name, queued, empty) in
        [("bb-bi", 'B', 'I'), ("bb-bp", 'B', 'P'), ("bp-bi", 'P', 'I'), ("bp-bp", 'P', 'P')]
    {
        let setting = Setting {
            interval: Interval::Finite(ms(10)),
            variant: name.parse().unwrap(),
            ..Setting::default()
        };
        let mut bench = Bench::with(setting);
        assert_eq!(bench.arrive(100, 1), [1]);
        bench.begin(100, true);
        bench.arrive(101, 2);
        let started = bench.end(105, true);
        assert_eq!((bench.state(105), started.is_empty()), (queued, queued == 'P'), "{name}, one waiting");
        assert_eq!(bench.tick(115).len() + started.len(), 1);

        let mut bench = Bench::with(setting);
        bench.arrive(100, 1);
        bench.begin(100, true);
        bench.end(105, true);
        assert_eq!((bench.state(105), bench.state(115)), (empty, 'I'), "{name}, none waiting");
        assert_eq!(
            bench.arrive(106, 2).is_empty(),
            empty == 'P',
            "{name}: an arrival does not end the interval"
        );
        assert_eq!(bench.resource.wake(ms(106)).at, (empty == 'P').then_some(ms(115)), "{name}");
    }
}

#[test]
fn a_request_that_arrived_after_the_end_did_not_wait_at_it_although_the_reading_came_later() {
    for (name, starts) in [("bp-bi", true), ("bp-bp", false)] {
        let interval = Interval::Finite(ms(10));
        let mut bench =
            Bench::with(Setting { interval, variant: name.parse().unwrap(), ..Setting::default() });
        bench.begin(100, true);
        assert_eq!(bench.arrive(106, 1), NONE);
        bench.sensor.background =
            ClassView { in_service: 0, ended: 1, last_end: ms(105), ..bench.sensor.background };
        assert_eq!(!bench.step(107, Input::Observe(bench.sensor)).is_empty(), starts, "{name}");
    }
}

#[test]
fn the_bound_opens_only_when_the_foreground_has_gone() {
    let opening = Opening { share: Share::percent(5), rate: 1_000 * LEAST_BYTES, unseen: ms(20) };
    let window_bytes = LEAST_BYTES;
    let mut bench = Bench::with(Setting { opening, window_bytes, depth: u32::MAX, ..Setting::default() });
    bench.tick(1);
    assert_eq!(bench.resource.window_bytes(ms(20)), LEAST_BYTES);
    assert!(bench.resource.is_unbounded(ms(21)), "no foreground was seen for long enough");
    bench.foreground(100, 105);
    assert_eq!(bench.arrive(110, 1), [1]);
    bench.begin(110, true);
    assert_eq!(bench.arrive(110, 2), NONE);
    assert_eq!(bench.resource.wake(ms(110)).at, Some(ms(145)), "40 ms away allow 2 ms of drain");
    assert_eq!(bench.tick(144), NONE);
    assert_eq!(bench.tick(145), [2]);
    assert_eq!(bench.resource.window_bytes(ms(1105)), 50 * LEAST_BYTES);
    bench.begin(1105, false);
    assert_eq!(bench.resource.window_bytes(ms(1105)), LEAST_BYTES);
}

#[test]
fn the_window_counts_bytes_and_small_requests_for_no_less_than_the_least() {
    let window_bytes = 4 * LEAST_BYTES;
    let mut bench = Bench::with(Setting { window_bytes, depth: u32::MAX, ..Setting::default() });
    let mut arrive = |ticket, bytes| bench.step(10, Input::Arrive(Ticket(ticket), bytes));
    assert_eq!(arrive(1, 3 * LEAST_BYTES), [1]);
    assert_eq!(arrive(2, 4_096), [2], "there is room for its bytes, and for one more request");
    assert_eq!(arrive(3, LEAST_BYTES), NONE, "4 KiB are missing");
    assert_eq!(arrive(4, 512), NONE, "it is not its turn");
    assert!(!bench.resource.admits(ms(10)));
    assert!(bench.resource.take_full() && !bench.resource.take_full());
    assert_eq!(bench.step(10, Input::Returned(Ticket(1))), [3, 4]);
    let started: Vec<u64> =
        (5..9).flat_map(|ticket| bench.step(10, Input::Arrive(Ticket(ticket), 512))).collect();
    assert_eq!(started, [5], "four small ones are as many as fit");
}

#[test]
fn what_is_let_in_alone_has_no_room() {
    let mut bench = Bench::with(Setting { window_bytes: LEAST_BYTES, depth: u32::MAX, ..Setting::default() });
    bench.tick(1);
    assert!(bench.resource.admits(ms(1)) && bench.resource.has_room(ms(1), LEAST_BYTES));
    assert!(!bench.resource.has_room(ms(1), LEAST_BYTES + 1));
    bench.begin(2, false);
    assert!(!bench.resource.has_room(ms(2), 0), "the foreground is in service");
}

#[test]
fn a_request_that_is_larger_than_the_window_is_let_in_alone() {
    let mut bench = Bench::with(Setting { window_bytes: LEAST_BYTES, depth: u32::MAX, ..Setting::default() });
    let large = 16 * LEAST_BYTES;
    assert_eq!(bench.step(10, Input::Arrive(Ticket(1), large)), [1]);
    assert_eq!(bench.step(10, Input::Arrive(Ticket(2), large)), NONE);
    assert_eq!(bench.resource.in_service_bytes(ms(10)), large);
    assert_eq!(bench.step(10, Input::Returned(Ticket(1))), [2]);
}

#[test]
fn a_large_request_that_the_device_sees_in_parts_is_granted_until_the_last_one() {
    let mut bench =
        Bench::with(Setting { window_bytes: 4 * LEAST_BYTES, depth: u32::MAX, ..Setting::default() });
    assert_eq!(bench.step(10, Input::Arrive(Ticket(1), 4 * LEAST_BYTES)), [1]);
    for part in 1..=4 {
        bench.begin(10, true);
        assert_eq!(bench.resource.in_service_bytes(ms(10)), 4 * LEAST_BYTES, "after part {part}");
    }
    assert_eq!(bench.resource.in_service(ms(10)), 4);
    assert_eq!(bench.arrive(10, 2), NONE);
    assert_eq!(bench.end(11, true), [2]);
}

#[test]
fn a_restarted_sensor_is_believed_but_does_not_end_an_interval() {
    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.foreground(100, 105);
    bench.foreground(106, 108);
    bench.sensor = Observation::default();
    bench.step(109, Input::Observe(bench.sensor));
    assert_eq!((bench.state(117), bench.state(118)), ('P', 'I'));
    bench.begin(120, false);
    assert_eq!(bench.state(120), 'F');
}

#[test]
fn a_clock_that_steps_back_wedges_nothing() {
    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.foreground(1000, 1005);
    bench.arrive(1006, 1);
    assert_eq!(bench.tick(3), NONE);
    assert_eq!(bench.tick(13), [1], "one interval after the step back");
    assert_eq!(bench.arrive(13, 2), NONE);
    assert_eq!(bench.tick(2), NONE);
    assert_eq!(bench.tick(12), [2], "again, and the grant has settled meanwhile");
}

#[test]
fn a_time_in_the_future_counts_from_its_first_reading() {
    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.sensor.foreground =
        ClassView { started: 1, ended: 1, last_start: ms(9000), last_end: ms(9001), ..ClassView::default() };
    for at in [100, 105, 109] {
        bench.step(at, Input::Observe(bench.sensor));
        assert_eq!(bench.state(at), 'P');
    }
    assert_eq!(bench.state(110), 'I');
}

#[test]
fn a_sensor_that_missed_the_end_is_believed_when_it_heals() {
    let mut plain = Bench::new(Interval::NONE, 1);
    plain.begin(100, false);
    plain.arrive(101, 1);
    plain.sensor.foreground.in_service = 0;
    assert_eq!(plain.step(102, Input::Observe(plain.sensor)), [1]);

    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.begin(100, false);
    bench.sensor.foreground.in_service = 0;
    for at in [120, 125] {
        bench.step(at, Input::Observe(bench.sensor));
    }
    assert_eq!(
        (bench.state(129), bench.state(130)),
        ('P', 'I'),
        "the interval counts from the first sight of the end"
    );

    let mut never = Bench::new(Interval::Infinite, 1);
    never.sensor.foreground = ClassView { started: 1, last_start: ms(100), ..ClassView::default() };
    never.step(101, Input::Observe(never.sensor));
    assert_eq!(never.arrive(1 << 30, 1), NONE);
}

#[test]
fn a_noted_view_counts_at_once_and_starts_at_the_next_step() {
    let mut bench = Bench::new(Interval::NONE, 1);
    bench.begin(100, false);
    bench.arrive(101, 1);
    bench.sensor.foreground =
        ClassView { in_service: 0, ended: 1, last_end: ms(102), ..bench.sensor.foreground };
    bench.resource.note(ms(102), bench.sensor);
    assert_eq!((bench.state(102), bench.resource.waiting()), ('I', 1));
    assert_eq!(bench.resource.wake(ms(102)).at, Some(ms(102)));
    assert_eq!(bench.tick(102), [1]);
}

#[test]
fn counters_follow_each_observed_event() {
    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.foreground(100, 101); // I[f], F[i]
    bench.foreground(102, 103); // P[f], F[i]
    bench.arrive(104, 1); // P[b]
    bench.tick(113); // P[t], I[b]
    bench.begin(113, true);
    bench.arrive(113, 2);
    bench.end(114, true); // B[b]
    bench.begin(114, true);
    bench.begin(115, false); // B[f]
    bench.end(116, true);
    bench.arrive(116, 3);
    bench.end(117, false); // F[b]
    bench.begin(119, false); // P[f]
    bench.begin(120, false); // F[f]
    let letters = ['I', 'F', 'B', 'P'];
    let mut seen = Vec::new();
    for state in State::ALL {
        for event in Event::ALL {
            for _ in 0..bench.resource.counters().get(state, event) {
                seen.push(format!("{}{}", letters[state.index()], event.letter()));
            }
        }
    }
    assert_eq!(seen, ["If", "Ib", "Ff", "Fb", "Fi", "Fi", "Bf", "Bb", "Pf", "Pf", "Pb", "Pt"]);
    assert_eq!(bench.resource.counters().preemptions(), 1);
}

#[test]
fn foreground_that_came_and_went_unseen_is_counted_and_starts_the_interval() {
    let mut bench = Bench::new(Interval::Finite(ms(10)), 1);
    bench.sensor.foreground =
        ClassView { started: 5, ended: 5, last_start: ms(120), last_end: ms(121), ..ClassView::default() };
    bench.step(125, Input::Observe(bench.sensor));
    assert_eq!(bench.state(125), 'P');
    let counters = bench.resource.counters();
    assert_eq!(counters.get(State::Idle, Event::Foreground), 1);
    assert_eq!(counters.get(State::Foreground, Event::Foreground), 4);
    assert_eq!(counters.get(State::Foreground, Event::Empty), 1);
}

#[test]
fn a_new_setting_takes_effect_at_once() {
    let mut bench = Bench::new(Interval::Infinite, 1);
    bench.foreground(100, 105);
    bench.arrive(106, 1);
    bench.resource.configure(ms(107), Setting { interval: Interval::Finite(ms(3)), ..Setting::default() });
    assert_eq!(bench.tick(107), NONE);
    assert_eq!(bench.tick(108), [1]);
    assert_eq!(bench.resource.setting().variant, Variant::default());
}
