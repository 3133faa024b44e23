use proptest::prelude::*;

use super::Backoff;
use crate::base::time::Nanos;

const FIRST: Nanos = Nanos::from_millis(10);
const MOST: Nanos = Nanos::from_secs(1);

#[test]
fn success_begins_anew() {
    let mut tries = Backoff::new(FIRST, MOST);
    assert!(tries.is_due(Nanos::ZERO));
    tries.failed(Nanos::ZERO);
    tries.failed(FIRST);
    assert!(!tries.is_due(Nanos(FIRST.times(3).0 - 1)) && tries.is_due(FIRST.times(3)));
    tries.succeeded();
    assert!(tries.is_due(FIRST));
    tries.failed(FIRST);
    assert!(tries.is_due(FIRST.times(2)));
}

proptest! {
    #[test]
    fn tries_in_vain_become_rare_and_never_end(looks in proptest::collection::vec(1_u64..50, 1..3000)) {
        let mut tries = Backoff::new(FIRST, MOST);
        let (mut now, mut tried, mut latest) = (Nanos::ZERO, 0_u64, Nanos::ZERO);
        for ms in looks {
            now = now.plus(Nanos::from_millis(ms));
            if tries.is_due(now) {
                tries.failed(now);
                (tried, latest) = (tried + 1, now);
            }
            prop_assert!(now.since(latest) <= MOST.plus(Nanos::from_millis(50)));
        }
        // Seven pauses until the longest one.
        prop_assert!(tried <= 8 + now.0 / MOST.0, "{tried} tries until {now}");
    }
}
