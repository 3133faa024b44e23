//! The bounds that `--depth` gives, and what a preemption is said to cost.

use lull_core::{DepthChoice, Histogram, IntervalChoice, Nanos, StartRule, Variant};

use super::{AUTO_DEPTH, COST_PACKETS, Cost, PACKET_BYTES, Rules};

fn rules(depth: DepthChoice) -> Rules {
    Rules {
        interval: IntervalChoice::Auto,
        variant: Variant::default(),
        start_rule: StartRule::Completion,
        hold: None,
        depth,
    }
}

#[test]
fn a_bound_in_packets_is_one_in_bytes_and_none_is_zero() {
    let bytes = |depth| rules(depth).depth_bytes();
    assert_eq!(bytes(DepthChoice::Fixed(3)), 3 * PACKET_BYTES);
    assert_eq!(bytes(DepthChoice::Auto), AUTO_DEPTH * PACKET_BYTES);
    assert_eq!(bytes(DepthChoice::Fixed(u32::MAX)), 0);
    assert_eq!(rules(DepthChoice::Fixed(1)).room_batch(), 1);
    assert!(rules(DepthChoice::Fixed(u32::MAX)).room_batch() <= rules(DepthChoice::Auto).room_batch());
}

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
