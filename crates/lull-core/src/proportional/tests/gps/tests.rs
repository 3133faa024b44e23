use proptest::prelude::*;

use super::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

#[test]
fn busy_children_share_what_their_parent_gets() {
    let mut gps = Gps::new(100.0);
    let (a, b) = (gps.add(0, 50.0), gps.add(0, 50.0));
    let (first, second) = (gps.add(a, 3.0), gps.add(a, 1.0));
    for queue in [first, second, b] {
        gps.arrive(queue, 1_000.0);
    }
    gps.advance(1.0);
    assert!(close(gps.served(b), 50.0) && close(gps.served(first), 37.5) && close(gps.served(second), 12.5));
    gps.check_invariants();
}

#[test]
fn what_an_idle_queue_leaves_goes_to_the_others() {
    let mut gps = Gps::new(10.0);
    let (a, b) = (gps.add(0, 9.0), gps.add(0, 1.0));
    gps.arrive(a, 9.0);
    gps.arrive(b, 100.0);
    gps.advance(1.0);
    assert!(close(gps.served(a), 9.0) && close(gps.served(b), 1.0));
    gps.advance(2.0);
    assert!(close(gps.served(a), 9.0) && close(gps.served(b), 11.0), "{}", gps.served(b));
}

proptest! {
    #[test]
    fn no_work_is_lost_and_none_is_made(
        weights in proptest::collection::vec(1_u32..100, 1..6),
        arrivals in proptest::collection::vec((0_usize..6, 1_u32..1_000, 0_u32..50), 1..60),
    ) {
        let mut gps = Gps::new(7.0);
        let queues: Vec<Node> = weights.iter().map(|weight| gps.add(0, f64::from(*weight))).collect();
        let (mut now_s, mut came, mut could) = (0.0, 0.0, 0.0_f64);
        for (queue, amount, wait) in arrivals {
            gps.arrive(queues[queue % queues.len()], f64::from(amount));
            came += f64::from(amount);
            now_s += f64::from(wait);
            could = (could + f64::from(wait) * 7.0).min(came);
            gps.advance(now_s);
            gps.check_invariants();
            prop_assert!(close(gps.served(0), could), "work conserving: {} of {could}", gps.served(0));
            prop_assert!(close(gps.served(0) + gps.left(0), came));
        }
    }
}
