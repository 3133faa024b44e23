use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn events_come_in_the_order_of_time_and_then_of_entry(times in proptest::collection::vec(0..20_u64, 0..60)) {
        let mut agenda = Agenda::default();
        for (serial, at) in times.iter().enumerate() {
            agenda.add(Nanos(*at), serial);
        }
        let mut expected: Vec<(u64, usize)> = times.iter().copied().zip(0..).filter(|(at, _)| *at < 15).collect();
        expected.sort_unstable();
        let mut seen = Vec::new();
        while let Some((at, serial)) = agenda.next_before(Nanos(15)) {
            seen.push((at.0, serial));
        }
        prop_assert_eq!(agenda.len(), times.len() - seen.len());
        prop_assert_eq!(seen, expected);
    }

    /// Each event that happens leads to some more, at once or later: the next is always the earliest, and the oldest of these.
    #[test]
    fn what_is_put_in_on_the_way_takes_its_turn(spans in proptest::collection::vec((0..5_u64, 0..3_usize), 1..80)) {
        let mut agenda = Agenda::default();
        agenda.add(Nanos(3), 0);
        let (mut waiting, mut serial) = (vec![(3, 0)], 0);
        for (span, more) in spans {
            waiting.sort_unstable();
            let next = agenda.next_before(Nanos::MAX).map(|(at, event)| (at.0, event));
            prop_assert_eq!(next, waiting.first().copied());
            let Some((now, _)) = next else { break };
            waiting.remove(0);
            for _ in 0..more {
                serial += 1;
                agenda.add(Nanos(now + span), serial);
                waiting.push((now + span, serial));
            }
            prop_assert_eq!(agenda.len(), waiting.len());
            prop_assert_eq!(agenda.is_empty(), waiting.is_empty());
        }
    }
}
