use super::*;

#[test]
fn the_cost_is_of_enough_packets_since_it_was_last_told() {
    let (mut cost, mut service) = (Cost::default(), Histogram::default());
    let mut pass = |cost: &mut Cost, packets, each| {
        (0..packets).for_each(|_| service.record(each));
        cost.step(&service)
    };
    assert_eq!(pass(&mut cost, COST_PACKETS - 1, Nanos::from_millis(1)), None);
    let first = pass(&mut cost, 1, Nanos::from_millis(1)).unwrap();
    assert_eq!(pass(&mut cost, COST_PACKETS - 1, Nanos::from_millis(100)), Some(first));
    assert!(pass(&mut cost, 1, Nanos::from_millis(100)).unwrap() > Nanos(first.0 * 10));
}
