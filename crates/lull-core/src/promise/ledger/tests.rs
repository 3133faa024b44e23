use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

/// Two resources that lose these shares of every second, for a minute; what each may lose then.
fn after_a_minute(losses: [u64; 2]) -> (Ledger, Vec<Loss>) {
    let mut ledger = Ledger::new(Loss::percent(5));
    let mut uses = [Use { contended: true, ..Use::default() }; 2];
    let mut parts = Vec::new();
    for second in 1..=60 {
        for (resource, percent) in uses.iter_mut().zip(losses) {
            resource.worked = resource.worked.plus(SECOND);
            resource.lost = resource.lost.plus(Nanos::from_millis(10 * percent));
        }
        parts = ledger.look(SECOND.times(second), &uses).unwrap();
    }
    (ledger, parts)
}

#[test]
fn one_that_loses_alone_may_lose_everything() {
    let (ledger, parts) = after_a_minute([4, 0]);
    assert_eq!(parts, [Loss::percent(5), Loss::percent(5)]);
    assert!(ledger.kept().promise);
}

#[test]
fn the_one_that_loses_most_backs_off() {
    let (ledger, parts) = after_a_minute([4, 2]);
    assert!(parts[0] < Loss::ppm(31_000) && parts[0] >= Loss::ppm(29_000), "{}", parts[0]);
    assert_eq!(parts[1], Loss::percent(5));
    assert!(!ledger.kept().promise, "6% were lost");
    assert!((ledger.lost_on(0) - 0.04).abs() < 0.002);
}

#[test]
fn something_is_always_left() {
    let (_, parts) = after_a_minute([20, 10]);
    assert_eq!(parts[0], Loss::ppm(12_500));
}

#[test]
fn parts_are_told_once_a_second() {
    let mut ledger = Ledger::new(Loss::percent(5));
    let looks = (1..=1000).filter_map(|tick| ledger.look(Nanos::from_millis(10 * tick), &[Use::default()]));
    assert_eq!(looks.count(), 10);
}
