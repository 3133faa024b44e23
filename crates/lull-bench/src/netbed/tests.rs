use super::*;

#[test]
fn a_bucket_holds_a_quarter_of_a_millisecond_or_three_packets() {
    assert_eq!(LinkPlan::of_rate(1_000).burst_bytes(), 31_250);
    assert_eq!(LinkPlan::of_rate(100).burst_bytes(), 3 * FRAME_BYTES);
}
