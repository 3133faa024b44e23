use proptest::prelude::*;

use super::*;

#[test]
fn a_full_queue_drops_at_once_and_harms_no_other() {
    let (a, b) = (QueueId(0), QueueId(1));
    let mut srp = Srp::default();
    srp.set(a, 2);
    srp.set(b, 2);
    assert_eq!(srp.arrive(a, 1), Fate::Signal);
    assert_eq!(srp.arrive(a, 2), Fate::Queued);
    assert_eq!(srp.arrive(a, 3), Fate::Dropped);
    assert_eq!(srp.arrive(b, 4), Fate::Signal);
    assert_eq!(srp.arrive(QueueId(9), 5), Fate::Dropped);
    assert_eq!((srp.take(a), srp.take(a), srp.take(a)), (Some(1), Some(2), None));
    assert_eq!(srp.counts(a), Counts { arrived: 3, taken: 2, dropped: 1 });
    assert_eq!(srp.stray(), 1);
    assert_eq!(srp.remove(b), Some(Counts { arrived: 1, taken: 0, dropped: 1 }));
    assert_eq!(srp.remove(b), None);
}

proptest! {
    #[test]
    fn order_is_kept_and_no_bound_is_passed(
        bound in 0_usize..5,
        ops in proptest::collection::vec(any::<bool>(), 1..200),
    ) {
        let (mut srp, socket) = (Srp::default(), QueueId(3));
        srp.set(socket, bound);
        let (mut next, mut last) = (0_u32, None);
        for arrives in ops {
            if arrives {
                let was = srp.waiting(socket);
                let fate = srp.arrive(socket, next);
                prop_assert_eq!(fate == Fate::Dropped, was >= bound);
                prop_assert_eq!(fate == Fate::Signal, was == 0 && bound > 0);
                next += 1;
            } else if let Some(packet) = srp.take(socket) {
                prop_assert!(last < Some(packet));
                last = Some(packet);
            }
            prop_assert!(srp.waiting(socket) <= bound);
            srp.check_invariants();
        }
    }
}
