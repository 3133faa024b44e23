use super::*;
use crate::device::Server;
use crate::device::cpu::{Cpu, CpuSetting};
use crate::device::disk::{Disk, DiskSetting};
use crate::device::link::{Link, LinkSetting};
use crate::device::ssd::{Ssd, SsdSetting};
use crate::policy::aimd::AimdSetting;
use crate::policy::bucket::BucketSetting;
use crate::span::Span;
use crate::workload::Intensity;
use lull_core::{
    ControlSetting, DepthChoice, Event as PolicyEvent, Interval, Loss, Share, StartRule, State, Variant,
};
use proptest::prelude::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn server(foreground: u64, background: u64) -> Device {
    let (foreground, background) = (Span::Fixed(ms(foreground)), Span::Fixed(ms(background)));
    Device::Server(Server { slots: 1, foreground, background, drag: 0.0 })
}

fn client(class: Class, workload: Workload) -> Client {
    let work = Some(Span::Fixed(ms(2)));
    Client { station: 0, class, workload, bytes: 4_096, work, sequential: false }
}

fn closed(class: Class, think: u64) -> Client {
    Client { work: None, ..client(class, Workload::Closed { think: Span::Fixed(ms(think)) }) }
}

fn fixed(interval: u64) -> Policy {
    Policy::Fixed(Setting { interval: Interval::Finite(ms(interval)), ..Setting::default() })
}

fn world(device: Device, policy: &Policy, clients: &[Client]) -> World {
    let mut world = World::new(1);
    world.add_station(device, policy);
    for client in clients {
        world.add_client(client.clone());
    }
    world
}

fn completed(world: &World) -> [u64; 2] {
    [Class::Foreground, Class::Background].map(|class| world.tally(0, class).completed)
}

#[test]
fn a_foreground_and_a_greedy_background_by_hand() {
    // Thinks 25, then 10 of service; background 10 each, from 5 after the foreground: starts at 5 and 15 and 25 would
    // be free of it exactly when the foreground returns: 25 - 5 = 20 = two services.
    let clients = [closed(Class::Foreground, 25), closed(Class::Background, 0), closed(Class::Background, 0)];
    let mut world = world(server(10, 10), &fixed(5), &clients);
    world.run_checked(ms(35_000));
    let tally = world.tally(0, Class::Foreground);
    let (cycles, blocked) = (tally.completed, tally.blocked);
    assert!((1_000 - cycles) < 3, "{cycles}");
    assert!(blocked < ms(30), "only before the first interval: {blocked}");
    assert!(completed(&world)[1].abs_diff(2 * cycles) < 4, "{:?}", completed(&world));
}

#[test]
fn alone_and_infinite_serve_no_background_and_none_is_plain_priority() {
    let clients = [closed(Class::Foreground, 0), closed(Class::Background, 0), closed(Class::Background, 0)];
    let mut alone = world(server(10, 10), &Policy::Alone, &clients);
    alone.run_checked(ms(1_000));
    assert_eq!(completed(&alone)[1], 0);
    let infinite = Policy::Fixed(Setting { interval: Interval::Infinite, ..Setting::default() });
    let mut never = world(server(10, 10), &infinite, &clients);
    never.run_checked(ms(1_000));
    assert!(completed(&never)[1] <= 1, "before the first foreground request at most");
    let thinks = [closed(Class::Foreground, 1), closed(Class::Background, 0), closed(Class::Background, 0)];
    let mut plain = world(server(10, 10), &fixed(0), &thinks);
    plain.run_checked(ms(10_000));
    let [foreground, background] = completed(&plain);
    assert!(foreground.abs_diff(background) < 3, "they alternate: {foreground}, {background}");
}

#[test]
fn counters_tell_who_met_whom() {
    let clients = [closed(Class::Foreground, 12), closed(Class::Background, 0), closed(Class::Background, 0)];
    let mut met = world(server(10, 10), &fixed(5), &clients);
    met.run_checked(ms(10_000));
    let kept = met.counters(0).kept_free();
    assert!(met.counters(0).preemptions() > 390 && kept == 0, "the gap of 12 is longer than the interval");
    let mut free = world(server(10, 10), &fixed(13), &clients);
    free.run_checked(ms(10_000));
    assert!(free.counters(0).kept_free() > 400 && free.counters(0).preemptions() <= 1);
    assert_eq!(free.counters(0).get(State::Idle, PolicyEvent::Timeout), 0);
}

fn devices() -> impl Strategy<Value = Device> {
    let link = LinkSetting { bits_per_second: 10_000_000, delay: ms(3), queue: 4 };
    let several =
        Server { slots: 3, foreground: Span::Fixed(ms(3)), background: Span::Fixed(ms(4)), drag: 0.3 };
    prop_oneof![
        Just(server(5, 7)),
        Just(Device::Server(several)),
        Just(Device::Disk(Disk::new(DiskSetting::default()))),
        Just(Device::Ssd(Ssd::new(SsdSetting::default()))),
        Just(Device::Link(Link::new(link))),
        Just(Device::Cpu(Cpu::new(CpuSetting::default()))),
    ]
}

fn workloads() -> impl Strategy<Value = Workload> {
    let group = |gap| crate::workload::Group {
        gap: ms(gap),
        requests: [0, 1]
            .map(|offset| crate::workload::Recorded { offset: ms(offset), work: ms(3), bytes: 512 })
            .into(),
    };
    let replay = crate::workload::Replay { groups: [group(4), group(9)].into() };
    prop_oneof![
        (0..30_u64).prop_map(|think| Workload::Closed { think: Span::Exponential(ms(think)) }),
        (6..40_u64).prop_map(|every| Workload::Poisson { every: ms(every) }),
        Just(Workload::Bursty {
            on: Span::Fixed(ms(40)),
            off: Span::Exponential(ms(60)),
            think: Span::Fixed(ms(2))
        }),
        (1..=100_u32).prop_map(|p| Workload::Intensity(Intensity::paper(Share::percent(p)))),
        Just(Workload::Spiteful { patience: ms(50) }),
        Just(Workload::Replay(replay)),
    ]
}

fn policies() -> impl Strategy<Value = Policy> {
    let setting =
        (0..60_u64, 1..4_u32, 0..4_usize, any::<bool>()).prop_map(|(interval, depth, variant, rule)| {
            Setting {
                interval: if interval > 55 { Interval::Infinite } else { Interval::Finite(ms(interval)) },
                depth,
                variant: Variant::ALL[variant],
                start_rule: if rule { StartRule::Request } else { StartRule::Completion },
                ..Setting::default()
            }
        });
    let bucket = BucketSetting { window: ms(10_000), ..BucketSetting::new(Loss::percent(5), ms(30)) };
    prop_oneof![
        setting.clone().prop_map(Policy::Fixed),
        setting.prop_map(move |setting| Policy::Bucket(setting, bucket)),
        Just(Policy::Auto(ControlSetting::default())),
        Just(Policy::Aimd(AimdSetting::new(Loss::percent(4)))),
        Just(Policy::Alone),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// All invariants at each event, the same run twice, and a number of pending events that does not grow.
    #[test]
    fn any_world_keeps_the_invariants_and_repeats(
        device in devices(), workload in workloads(), policy in policies(), threads in 1..4_usize, think in 0..5_u64,
    ) {
        let mut clients = vec![client(Class::Foreground, workload)];
        let background = Client { work: Some(Span::Fixed(ms(4))), ..closed(Class::Background, think) };
        clients.extend(std::iter::repeat_n(background, threads));
        let mut one = world(device.clone(), &policy, &clients);
        one.run_checked(ms(400));
        let early = one.pending();
        one.run_checked(ms(900));
        prop_assert!(one.pending() <= early + 8, "{} pending, {early} before", one.pending());
        let mut two = world(device, &policy, &clients);
        two.run_until(ms(900));
        prop_assert_eq!(one.events(), two.events());
        prop_assert_eq!(completed(&one), completed(&two));
        prop_assert_eq!(one.counters(0), two.counters(0));
    }

    /// The bucket's promise, against a foreground that comes the moment background has started.
    #[test]
    fn a_bucket_bounds_what_spite_can_cost(
        percent in 1..20_u32, window in 1..20_u64, patience in 1..2_000_u64,
    ) {
        let bucket =
            BucketSetting { window: ms(1_000 * window), ..BucketSetting::new(Loss::percent(percent), ms(20)) };
        let credits = bucket.credits();
        let cap = credits.cap().max(ms(20));
        let policy = Policy::Bucket(Setting::default(), bucket);
        let spite = client(Class::Foreground, Workload::Spiteful { patience: ms(patience) });
        let clients = [spite, closed(Class::Background, 0), closed(Class::Background, 0)];
        let mut world = world(server(20, 20), &policy, &clients);
        let mut before: Vec<Nanos> = Vec::new();
        for second in 0..20_u64 {
            world.run_until(ms(1_000 * (second + 1)));
            let blocked = world.tally(0, Class::Foreground).blocked;
            for (age, earlier) in before.iter().rev().enumerate() {
                let window = ms(1_000 * (age as u64 + 1) + 20);
                let promised = cap.plus(credits.rate().of(window));
                prop_assert!(blocked.since(*earlier) <= promised, "{} in {window}", blocked.since(*earlier));
            }
            before.push(blocked);
        }
        prop_assert!(world.tally(0, Class::Background).completed > 0, "something runs");
    }
}

/// Foregrounds that do not wait for their requests, that change, and that are up to no good.
fn awkward() -> impl Strategy<Value = Workload> {
    let span = || (5..400_u64).prop_map(|mean| Span::Exponential(ms(mean)));
    prop_oneof![
        (26..400_u64).prop_map(|every| Workload::Poisson { every: ms(every) }),
        (1..2_000_u64).prop_map(|patience| Workload::Spiteful { patience: ms(patience) }),
        (span(), span()).prop_map(|(on, off)| Workload::Bursty { on, off, think: Span::Fixed(ms(1)) }),
        (span(), span(), 1..50_u64).prop_map(|(before, after, at)| Workload::Changing {
            before,
            after,
            at: ms(1_000 * at),
        }),
        (1..50_u64, 11..30_u32).prop_map(|(least, tail)| Workload::Closed {
            think: Span::Pareto { least: ms(least), tail: f64::from(tail) / 10.0 },
        }),
    ]
}

/// The counters and tallies of a station, as text.
fn history(world: &World, station: u32) -> String {
    let tally = |class| world.tally(station, class);
    format!("{:?} {:?} {:?}", world.counters(station), tally(Class::Foreground), tally(Class::Background))
}

#[test]
fn a_station_does_not_notice_how_many_others_there_are() {
    let think = |class, think| Client {
        workload: Workload::Closed { think: Span::Exponential(ms(think)) },
        ..closed(class, 0)
    };
    let clients = [think(Class::Foreground, 30), think(Class::Background, 1)];
    let device = || Device::Disk(Disk::new(DiskSetting::default()));
    let mut alone = world(device(), &fixed(20), &clients);
    let mut among = alone.clone();
    for other in 1..4 {
        assert_eq!(among.add_station(device(), &fixed(20)), other);
        for client in &clients {
            among.add_client(Client { station: other, ..client.clone() });
        }
    }
    for until in [500, 7_000, 20_000] {
        alone.run_until(ms(until));
        among.run_until(ms(until));
        assert_eq!(history(&among, 0), history(&alone, 0));
    }
    assert!(alone.counters(0).kept_free() > 10, "something happened");
    assert_ne!(history(&among, 1), history(&among, 2), "each has luck of its own");
    assert!(among.events() > 3 * alone.events() && among.pending() > 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Control's promise, in each window and from the first moment on, beside what may come at once: a tenth of what
    /// a minute may lose. It looks every 25 ms, and what has begun by then is served: 100 ms in all.
    #[test]
    fn control_keeps_its_budget_whatever_the_foreground_does(workload in awkward(), percent in 2..10_u32) {
        let budget = Loss::percent(percent);
        let aim = ControlSetting { budget, depth: DepthChoice::Fixed(1), ..ControlSetting::default() };
        let clients =
            [client(Class::Foreground, workload), closed(Class::Background, 0), closed(Class::Background, 0)];
        let mut world = world(server(20, 20), &Policy::Auto(aim), &clients);
        let at_once = budget.of(ms(6_000)).plus(ms(100));
        let mut before: Vec<Nanos> = Vec::new();
        for second in 0..120_u64 {
            world.run_until(ms(1_000 * (second + 1)));
            let blocked = world.tally(0, Class::Foreground).blocked;
            for (age, earlier) in before.iter().rev().enumerate() {
                let window = ms(1_000 * (age as u64 + 1));
                let lost = blocked.since(*earlier);
                prop_assert!(lost <= at_once.plus(budget.of(window)), "{lost} in {window}");
            }
            before.push(blocked);
        }
        prop_assert!(world.tally(0, Class::Background).completed > 0, "something runs");
    }
}
