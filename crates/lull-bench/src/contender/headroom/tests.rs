use proptest::prelude::*;

use super::*;

const POLICY: Policy = Policy { cpus: 2.0, headroom: 0.2, floor: 0.05, period: Nanos::from_secs(5) };

fn usage(at_s: u64, all_ms: u64, background_ms: u64) -> Usage {
    Usage {
        at: Nanos::from_secs(at_s),
        all: Nanos::from_millis(all_ms),
        background: Nanos::from_millis(background_ms),
    }
}

fn near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-9, "{got} for {wanted}");
}

#[test]
fn the_background_gets_what_the_foreground_leaves_less_the_headroom() {
    near(POLICY.first(), 1.6);
    // Half a CPU of foreground, whatever the background used meanwhile.
    near(POLICY.quota(usage(10, 1_000, 1_000), usage(15, 3_500, 1_000)), 1.1);
    near(POLICY.quota(usage(10, 1_000, 1_000), usage(15, 9_500, 7_000)), 1.1);
}

#[test]
fn a_busy_foreground_leaves_the_floor_and_odd_readings_do_no_harm() {
    near(POLICY.quota(usage(0, 0, 0), usage(5, 10_000, 0)), 0.05);
    // Ticks are coarse: the group may seem to have used more than everything.
    near(POLICY.quota(usage(0, 0, 0), usage(5, 1_000, 1_010)), 1.6);
    near(POLICY.quota(usage(5, 0, 0), usage(5, 1_000, 0)), 1.6);
    // Processes of the group that ended take their time with them.
    near(POLICY.quota(usage(0, 0, 2_000), usage(5, 2_500, 0)), 1.1);
}

proptest! {
    #[test]
    fn more_foreground_never_raises_the_quota_nor_leaves_the_bounds(
        less in 0_u64..20_000, more in 0_u64..20_000, background in 0_u64..10_000,
    ) {
        let (less, more) = (less.min(more), less.max(more));
        let quota = |ms| POLICY.quota(usage(1, 0, 0), usage(6, ms + background, background));
        prop_assert!(quota(more) <= quota(less));
        prop_assert!((POLICY.floor..=POLICY.cpus).contains(&quota(more)));
    }
}
