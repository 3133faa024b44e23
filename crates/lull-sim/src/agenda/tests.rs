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
}
