use super::*;

fn work(cpu_ms: u64, megabytes: u64) -> Progress {
    Progress { cpu: Nanos::from_millis(cpu_ms), io_bytes: megabytes * 1_000_000 }
}

fn is_near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 0.001, "{found} is not {wanted}");
}

#[test]
fn both_prices_are_found_from_mixed_work() {
    let mut target = TargetRate::new(1_000);
    // One second of CPU takes a second, ten megabytes take 100 ms.
    for (cpu, io) in [(100, 0), (50, 5), (0, 10), (80, 2), (20, 8)] {
        target.learn(Nanos::from_millis(cpu + io * 10), work(cpu, io));
    }
    is_near(target.usual(work(30, 4)), 0.07);
    is_near(target.usual(work(0, 1)), 0.01);
}

#[test]
fn measures_that_go_hand_in_hand_are_priced_as_one() {
    let mut target = TargetRate::new(1_000);
    for scale in 1..20 {
        target.learn(Nanos::from_millis(100 * scale), work(10 * scale, scale));
    }
    is_near(target.usual(work(10, 1)), 0.1);
}

#[test]
fn old_samples_fade() {
    let mut target = TargetRate::new(10);
    for _ in 0..50 {
        target.learn(Nanos::from_millis(100), work(100, 0));
    }
    for _ in 0..50 {
        target.learn(Nanos::from_millis(100), work(50, 0));
    }
    let usual = target.usual(work(50, 0));
    assert!(usual > 0.09, "the new rate is the usual one: {usual}");
}

#[test]
fn no_work_takes_no_time() {
    let mut target = TargetRate::new(10);
    is_near(target.usual(work(5, 5)), 0.0);
    target.learn(Nanos::from_millis(100), work(0, 0));
    is_near(target.usual(work(0, 0)), 0.0);
}
