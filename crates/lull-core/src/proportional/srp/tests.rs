use proptest::prelude::*;

use super::*;

#[test]
fn a_full_queue_drops_at_once_and_harms_no_other() {
    let (a, b) = (QueueId(0), QueueId(1));
    let mut srp = Srp::default();
    srp.set(a, Amount::of_packets(2));
    srp.set(b, Amount::of_packets(2));
    assert_eq!(srp.arrive(a, 1, 10), Fate::Signal);
    assert_eq!(srp.arrive(a, 2, 10), Fate::Queued);
    assert_eq!(srp.arrive(a, 3, 10), Fate::Dropped);
    assert_eq!(srp.arrive(b, 4, 10), Fate::Signal);
    assert_eq!(srp.arrive(QueueId(9), 5, 10), Fate::Dropped);
    assert_eq!((srp.take(a), srp.take(a), srp.take(a)), (Some(1), Some(2), None));
    assert_eq!(srp.counts(a), Counts { arrived: 3, taken: 2, dropped: 1 });
    assert_eq!(srp.stray(), 1);
    assert_eq!(srp.remove(b), Some(Counts { arrived: 1, taken: 0, dropped: 1 }));
    assert_eq!(srp.remove(b), None);
}

#[test]
fn bytes_bound_all_but_the_first() {
    let (mut srp, a) = (Srp::default(), QueueId(0));
    srp.set(a, Amount { packets: 9, bytes: 100 });
    assert_eq!(srp.arrive(a, 1, 500), Fate::Signal, "any packet fits into an empty queue");
    assert_eq!(srp.arrive(a, 2, 1), Fate::Dropped);
    assert_eq!(srp.take(a), Some(1));
    assert_eq!(srp.arrive(a, 3, 60), Fate::Signal);
    assert_eq!(srp.arrive(a, 4, 41), Fate::Dropped);
    assert_eq!(srp.arrive(a, 5, 40), Fate::Queued);
    assert_eq!(srp.waiting(a), Amount { packets: 2, bytes: 100 });
}

proptest! {
    #[test]
    fn order_is_kept_and_no_bound_is_passed(
        packets in 0_u64..5,
        bytes in 0_u64..50,
        ops in proptest::collection::vec((any::<bool>(), 0_u64..30), 1..200),
    ) {
        let (mut srp, socket) = (Srp::default(), QueueId(3));
        srp.set(socket, Amount { packets, bytes });
        let (mut next, mut last) = (0_u32, None);
        for (arrives, size) in ops {
            if arrives {
                let was = srp.waiting(socket);
                let fits = was.packets < packets && (was.bytes == 0 || was.bytes + size <= bytes);
                let fate = srp.arrive(socket, next, size);
                prop_assert_eq!(fate != Fate::Dropped, fits);
                prop_assert_eq!(fate == Fate::Signal, fits && was.packets == 0);
                next += 1;
            } else if let Some(packet) = srp.take(socket) {
                prop_assert!(last < Some(packet));
                last = Some(packet);
            }
            prop_assert!(srp.waiting(socket).packets <= packets);
            srp.check_invariants();
        }
    }

    /// Nothing overflows, and room for more means room for less.
    #[test]
    fn room_grows_with_the_bound(packets: u64, bytes: u64, more: [u64; 2], waiting: [u64; 2], size: u64) {
        let room = Amount { packets, bytes };
        let wider = Amount { packets: packets.saturating_add(more[0]), bytes: bytes.saturating_add(more[1]) };
        let waiting = Amount { packets: waiting[0], bytes: waiting[1] };
        prop_assert!(!room.takes(waiting, size) || wider.takes(waiting, size));
        prop_assert!(!room.takes(waiting, size) || room.takes(waiting, size / 2));
        prop_assert_eq!(Amount::ENDLESS.takes(Amount::default(), size), true);
    }
}
