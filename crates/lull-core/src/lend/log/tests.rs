use super::*;

#[test]
fn the_latest_moves_are_kept_in_their_order() {
    let mut log = Log::default();
    let total = KEPT as u64 + 5;
    for at in 0..total {
        let (from, to) = (Rung::BOTTOM, Rung::BOTTOM);
        log.add(Move { at: Nanos(at), from, to, reason: Reason::Fits, slowdown: None });
    }
    let times: Vec<u64> = log.iter().map(|entry| entry.at.0).collect();
    assert_eq!(times, (5..total).collect::<Vec<_>>());
}
