use super::*;

const DAEMONS: Daemons = Daemons { master: "no-such-master", starter: "no-such-starter" };
const SPAN: Nanos = Nanos::from_secs(5);

fn watch() -> Watch {
    let setting = OwnerSetting { busy: 0.1, away_after: Nanos::from_secs(60) };
    Watch {
        daemons: DAEMONS,
        cpus: 2.0,
        episode: Episode::new(setting, Nanos::ZERO),
        beside: Use::default(),
        guests: 0,
        count: Count::default(),
        counted: Nanos::ZERO,
    }
}

fn used(cpu_ms: u64, waited_ms: u64) -> Use {
    let cpu = Nanos::from_millis(cpu_ms);
    Use { cpu, ran: cpu, waited: Nanos::from_millis(waited_ms) }
}

#[test]
fn without_a_guest_nothing_is_lost_and_what_is_left_is_offered() {
    let tenants = Tenants { owner: used(7_500, 500), ..Tenants::default() };
    let seen = watch().take(SPAN, SPAN, &tenants, None);
    assert!(seen.in_use);
    assert!((seen.owner_cpus - 1.5).abs() < 1e-9);
    assert!((seen.idle_cpus() - 0.5).abs() < 1e-9);
    assert!((seen.share - 0.5).abs() < 1e-9);
    assert!(seen.loss.abs() < 1e-9);
}

#[test]
fn a_guest_tells_what_it_gets_and_costs() {
    let tenants = Tenants { owner: used(900, 100), guests: used(3_000, 1_000), guest_count: 1 };
    let seen = watch().take(SPAN, SPAN, &tenants, None);
    assert!((seen.share - 0.75).abs() < 1e-9);
    assert!((seen.loss - 0.1).abs() < 1e-9);
    assert!((seen.guest_cpus - 0.6).abs() < 1e-9);
    // One that hardly wanted anything does not.
    let tenants = Tenants { guests: used(10, 10), ..tenants };
    assert!((watch().take(SPAN, SPAN, &tenants, None).share - 1.0).abs() < 1e-9);
}

#[test]
fn the_real_machine_can_be_looked_at() {
    let mut watch = Watch::new(DAEMONS, OwnerSetting::default());
    let seen = watch.look();
    assert!(seen.cpus >= 1.0);
    assert!((0.0..=1.0).contains(&seen.share), "{seen:?}");
    assert_eq!(seen.guests, 0);
    assert!(seen.since_s <= seen.time_s);
}

#[test]
fn who_stays_is_not_judged_by_what_two_shared() {
    let mut watch = watch();
    // The owner has one of two CPUs, and two guests share the other.
    let two = Tenants { owner: used(5_000, 0), guests: used(5_000, 5_000), guest_count: 2 };
    let seen = watch.take(SPAN, SPAN, &two, None);
    assert!((seen.share - 0.5).abs() < 1e-9);
    assert!((seen.share_of_one_more() - 1.0 / 3.0).abs() < 1e-9);
    // One leaves.
    let one = Tenants { owner: used(5_000, 0), guests: used(5_000, 0), guest_count: 1 };
    let seen = watch.take(SPAN.times(2), SPAN, &one, None);
    assert!((seen.share - 1.0).abs() < 1e-9, "{seen:?}");
    assert!(seen.in_use);
}
