use super::*;
use proptest::prelude::*;

const MS: Nanos = Nanos::from_millis(1);

fn drain(sender: &mut Sender, now: Nanos) -> Vec<u64> {
    std::iter::from_fn(|| sender.send(now)).collect()
}

#[test]
fn slow_start_doubles_each_round_and_then_grows_by_one() {
    let mut sender = Sender { threshold: 4.0, ..Sender::default() };
    sender.write(BUFFER);
    assert_eq!(drain(&mut sender, MS), [0]);
    sender.acknowledge(MS, 1);
    assert_eq!(drain(&mut sender, MS), [1, 2]);
    sender.acknowledge(MS, 2);
    sender.acknowledge(MS, 3);
    assert_eq!(drain(&mut sender, MS).len(), 4);
    for segment in 4..8 {
        sender.acknowledge(MS, segment);
    }
    assert_eq!(sender.window(), 4, "four quarters, less what the quarters lose on the way");
    sender.acknowledge(MS, 8);
    assert_eq!(sender.window(), 4);
}

#[test]
fn three_repeated_acknowledgements_resend_the_hole_and_halve_the_window() {
    let mut sender = Sender { window: 16.0, threshold: 8.0, ..Sender::default() };
    sender.write(BUFFER);
    assert_eq!(drain(&mut sender, MS).len(), 16);
    sender.acknowledge(MS, 1);
    drain(&mut sender, MS);
    for _ in 0..2 {
        sender.acknowledge(MS, 1);
        assert_eq!(drain(&mut sender, MS), [0; 0]);
    }
    sender.acknowledge(MS, 1);
    assert_eq!(drain(&mut sender, MS), [1], "the hole and nothing else");
    sender.acknowledge(MS, 5);
    assert_eq!(sender.send(MS), Some(5), "a partial acknowledgement shows the next hole");
    sender.acknowledge(MS, 17);
    assert!((8..=9).contains(&sender.window()), "{}", sender.window());
}

#[test]
fn a_timeout_begins_again_with_one_segment_and_waits_longer_each_time() {
    let mut sender = Sender { window: 8.0, ..Sender::default() };
    sender.write(20);
    drain(&mut sender, MS);
    let first = sender.timeout().unwrap();
    assert_eq!(first, MS.plus(LEAST_TIMEOUT));
    sender.expire(first);
    assert_eq!(drain(&mut sender, first), [0]);
    let second = sender.timeout().unwrap();
    assert_eq!(second.since(first), LEAST_TIMEOUT.times(2));
    sender.acknowledge(second, 8);
    assert_eq!(drain(&mut sender, second).first(), Some(&8), "what had arrived is not sent again");
}

#[test]
fn the_estimator_counts_ticks_and_never_falls_below_an_eighth_of_one() {
    let mut sender = Sender::default();
    for round in 0..50_u64 {
        sender.write(1);
        sender.send(MS.times(round));
        sender.acknowledge(MS.times(round), round + 1);
    }
    assert_eq!(sender.round_trip(), Some(Nanos::from_micros(1_250)));
    let mut far = Sender::default();
    for round in 0..200_u64 {
        far.write(1);
        far.send(MS.times(100 * round));
        far.acknowledge(MS.times(100 * round + 25), round + 1);
    }
    let estimate = far.round_trip().unwrap();
    assert!(estimate >= MS.times(20) && estimate <= MS.times(30), "{estimate}");
}

#[test]
fn the_receiver_acknowledges_every_second_segment_and_holes_at_once() {
    let mut receiver = Receiver::default();
    assert_eq!(receiver.take(MS, 0), Answer::Later(MS.plus(DELAY)));
    assert_eq!(receiver.take(MS, 1), Answer::Now(2));
    assert_eq!(receiver.take(MS, 3), Answer::Now(2));
    assert_eq!(receiver.take(MS, 2), Answer::Now(4));
    receiver.take(MS, 4);
    assert_eq!(receiver.overdue(MS), None);
    assert_eq!(receiver.overdue(MS.plus(DELAY)), Some(5));
    assert_eq!(receiver.overdue(MS.plus(DELAY)), None);
}

proptest! {
    /// Over a link that loses what it likes, everything arrives in order, and the window stays within its bounds.
    #[test]
    fn everything_arrives_whatever_is_lost(losses in proptest::collection::vec(any::<bool>(), 1..200)) {
        let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
        let total = 150_u64;
        let mut now = MS;
        let mut losses = losses.into_iter();
        let mut written = 0;
        for _ in 0..5_000 {
            let more = sender.space().min(total - written);
            sender.write(more);
            written += more;
            let mut answers = Vec::new();
            while let Some(segment) = sender.send(now) {
                prop_assert!(segment < written);
                if !losses.next().unwrap_or(false) {
                    answers.push(receiver.take(now, segment));
                }
            }
            now = now.plus(MS);
            if answers.is_empty() {
                now = now.plus(DELAY);
            }
            let late = receiver.overdue(now).map(Answer::Now);
            for answer in answers.into_iter().chain(late) {
                if let Answer::Now(segment) = answer {
                    sender.acknowledge(now, segment);
                }
            }
            prop_assert!(sender.window() >= 1 && sender.window() <= BUFFER);
            if sender.acknowledged() == total {
                return Ok(());
            }
            if let (Some(at), false) = (sender.timeout(), sender.can_send()) {
                now = now.max(at);
                sender.expire(now);
            }
        }
        prop_assert!(false, "{} of {total} arrived", sender.acknowledged());
    }
}
