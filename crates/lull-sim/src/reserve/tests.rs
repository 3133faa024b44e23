use std::num::NonZero;

use super::*;

fn setup(share: Option<u32>, load: u32, secs: u64) -> Setup {
    Setup { share: share.map(Share::percent), clients: 10, load, length: Nanos::from_secs(secs), seed: 1 }
}

/// Throughput of solo: at loads of 10 and 40 with half reserved, and plain at 10; and what is reserved but not needed.
fn check(run: impl Fn(Setup) -> Site, secs: u64, least: f64) {
    let of = |share, load| run(setup(share, load, secs)).throughput;
    let solo = of(None, 0);
    let alone = of(Some(50), 0) / solo;
    assert!(alone >= 0.95, "alone it has nearly everything: {alone}");
    for load in [10, 40] {
        let kept = of(Some(50), load) / solo;
        assert!((least..0.62).contains(&kept), "half is kept at {load}: {kept}");
    }
    let plain = of(None, 40) / solo;
    assert!((0.1..0.3).contains(&plain), "the plain system gives a fifth: {plain}");
}

#[test]
fn half_of_the_cpu_is_kept_and_all_of_it_if_nobody_else_wants_it() {
    check(|setup| cpu::run(&setup), 60, 0.48);
    let solo = cpu::run(&setup(None, 0, 60));
    let most = cpu::run(&setup(Some(99), 40, 60));
    assert!(most.throughput >= 0.95 * solo.throughput);
    let (few, many) = (cpu::run(&setup(Some(50), 10, 60)), cpu::run(&setup(Some(50), 40, 60)));
    assert!((many.response_s / few.response_s - 1.0).abs() < 0.1, "{few:?} {many:?}");
}

#[test]
fn half_of_the_disk_is_kept() {
    check(|setup| disk::run(&setup, NonZero::new(4).unwrap()), 60, 0.45);
}

#[test]
fn half_of_the_link_is_kept() {
    check(|setup| link::run(&setup, 10_000_000), 60, 0.45);
    check(|setup| link::run(&setup, 100_000_000), 20, 0.45);
}

#[test]
fn the_plain_stack_livelocks_and_srp_does_not() {
    let (host, length) = (Host::default(), Nanos::from_secs(5));
    let all = [Share::ALL];
    let one = |shares: Option<&[Share]>, rate| input::run(&host, 1, shares, rate, length, 1)[0];
    let plateau = one(Some(&all), 6_000.0);
    assert!((5_400.0..5_800.0).contains(&plateau), "{plateau}");
    assert!(one(Some(&all), 30_000.0) > 0.9 * plateau);
    assert!(one(None, 30_000.0) < 0.01 * plateau, "livelock");
    assert!((one(None, 3_000.0) - 3_000.0).abs() < 100.0, "below that all is received");
}

#[test]
fn shares_of_the_cpu_say_who_receives() {
    let shares = [97, 1, 1, 1].map(Share::percent);
    let got = input::run(&Host::default(), 4, Some(&shares), 20_000.0, Nanos::from_secs(5), 1);
    assert!(got[0] > 0.8 * 5_700.0 && got[1..].iter().all(|other| (10.0..300.0).contains(other)), "{got:?}");
}

use input::Host;
