use super::*;

const NONE: [usize; 0] = [];

/// Calls every 10 ms with ten requests of each cost in turn; returns at which call there were alarms.
fn alarms(watch: &mut Watch, costs: impl IntoIterator<Item = u64>) -> Vec<usize> {
    let mut reading = Reading::default();
    let mut alarms = Vec::new();
    for (call, cost) in costs.into_iter().enumerate() {
        if watch.look(Nanos::from_millis(10 * call as u64), reading) {
            alarms.push(call);
        }
        reading = Reading { count: reading.count + 10, sum: reading.sum + 10 * cost, work: 0 };
    }
    alarms
}

fn watch() -> Watch {
    Watch::new(Measure::Mean, 10, Nanos::from_millis(10))
}

fn about(level: u64, calls: u64) -> impl Iterator<Item = u64> {
    (0..calls).map(move |call| level + call * 7 % 11)
}

/// As often high as low, by up to `span`.
fn scattered(level: u64, span: u32, calls: u32) -> Vec<u64> {
    let mut random = crate::random::Random::new(9);
    (0..calls).map(|_| level - u64::from(span) + u64::from(random.below(2 * span))).collect()
}

#[test]
fn a_jump_gives_one_alarm_and_becomes_usual() {
    let alarms = alarms(&mut watch(), about(1000, 50).chain(about(1500, 200)));
    assert!(alarms.len() == 1 && (51..56).contains(&alarms[0]), "{alarms:?}");
}

#[test]
fn a_jump_that_is_small_against_the_scatter_takes_some_more() {
    let costs = scattered(1000, 500, 400).into_iter().chain(scattered(1400, 500, 400));
    let alarms = alarms(&mut watch(), costs);
    assert!(alarms.len() == 1 && (402..430).contains(&alarms[0]), "{alarms:?}");
}

#[test]
fn one_slow_stretch_or_a_slow_drift_gives_none() {
    assert_eq!(alarms(&mut watch(), about(1000, 50).chain([9000]).chain(about(1000, 50))), NONE);
    assert_eq!(alarms(&mut watch(), (0..500).map(|call| 1000 + call / 2 + call * 7 % 11)), NONE);
}

#[test]
fn scatter_that_is_usual_gives_none() {
    assert_eq!(alarms(&mut watch(), scattered(1000, 500, 5_000)), NONE);
}

#[test]
fn what_happened_before_an_interruption_does_not_count() {
    let mut watch = watch();
    assert_eq!(alarms(&mut watch, about(1000, 50)), NONE);
    watch.interrupt();
    // The sensor starts again from zero, too.
    assert_eq!(alarms(&mut watch, about(1000, 50)), NONE);
    watch.restart();
    assert_eq!(alarms(&mut watch, about(1500, 50)), NONE);
}

#[test]
fn where_more_is_better_less_gives_an_alarm() {
    let mut watch = Watch::new(Measure::Level, 10, Nanos::from_millis(10));
    let costs = about(1000, 50).chain(about(1500, 50)).chain(about(750, 50));
    let alarms = alarms(&mut watch, costs);
    assert!(alarms.len() == 1 && (101..106).contains(&alarms[0]), "{alarms:?}");
}
