//! The bounds that `--depth` gives.

use lull_core::{DepthChoice, IntervalChoice, StartRule, Variant};

use super::{AUTO_DEPTH, PACKET_BYTES, Rules};

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
