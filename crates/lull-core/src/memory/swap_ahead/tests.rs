use proptest::prelude::*;

use super::{LEAST_PAUSE, Launder, LaunderView, MOST_PAUSE, PIECE_BYTES};
use crate::base::time::Nanos;

const MIB: u64 = 1 << 20;

/// A job of 128 MiB in 192, all of it dirty.
const FULL: LaunderView = LaunderView {
    total_bytes: 192 * MIB,
    free_bytes: 40 * MIB,
    job_bytes: 128 * MIB,
    clean_bytes: 0,
    swap_bytes: 1024 * MIB,
    free_swap_bytes: 1024 * MIB,
    is_short: false,
};

/// Writes until there is nothing to write; how much is then clean, and how much was written.
fn pass(launder: &mut Launder, now: Nanos, mut view: LaunderView) -> (u64, u64) {
    let mut written = 0;
    while let Some(bytes) = launder.step(now, &view) {
        launder.wrote(bytes);
        view.clean_bytes += bytes;
        written += bytes;
    }
    (view.clean_bytes, written)
}

#[test]
fn half_of_the_memory_can_then_be_had_without_a_write() {
    let mut launder = Launder::default();
    assert_eq!(pass(&mut launder, Nanos::ZERO, FULL), (56 * MIB, 56 * MIB));
    let small = LaunderView { job_bytes: 20 * MIB, ..FULL };
    assert_eq!(pass(&mut Launder::default(), Nanos::ZERO, small), (20 * MIB, 20 * MIB), "all it has");
}

#[test]
fn nothing_is_written_where_nothing_is_gained() {
    for view in [
        LaunderView { free_bytes: 100 * MIB, ..FULL },
        LaunderView { is_short: true, ..FULL },
        LaunderView { free_swap_bytes: 512 * MIB, ..FULL },
        LaunderView { swap_bytes: 0, free_swap_bytes: 0, ..FULL },
        LaunderView { clean_bytes: 50 * MIB, ..FULL },
    ] {
        assert_eq!(Launder::default().step(Nanos::ZERO, &view), None, "{view:?}");
    }
}

#[test]
fn a_pass_ends_though_the_job_makes_everything_dirty_again() {
    let mut launder = Launder::default();
    let mut written = 0;
    while let Some(bytes) = launder.step(Nanos::ZERO, &FULL) {
        launder.wrote(bytes);
        written += bytes;
    }
    assert_eq!(written, FULL.job_bytes, "once over all of it");
    let just_before = Nanos(LEAST_PAUSE.0 - 1);
    assert_eq!(launder.step(just_before, &FULL), None);
    assert_eq!(launder.step(LEAST_PAUSE, &FULL), Some(PIECE_BYTES));
    assert_eq!(launder.pause(), Nanos(2 * LEAST_PAUSE.0), "nothing of it was left");
}

#[test]
fn useless_passes_become_rare_and_useful_ones_do_not() {
    let mut launder = Launder::default();
    let mut now = Nanos::ZERO;
    for _ in 0..12 {
        pass(&mut launder, now, FULL);
        now = now.plus(MOST_PAUSE);
    }
    assert_eq!(launder.pause(), MOST_PAUSE);
    // Of the latest 56 MiB more than half stayed clean, but others have taken memory.
    let kept = LaunderView { clean_bytes: 40 * MIB, free_bytes: 10 * MIB, ..FULL };
    assert_eq!(pass(&mut launder, now, kept), (86 * MIB, 46 * MIB));
    assert_eq!(launder.pause(), LEAST_PAUSE);
}

#[test]
fn what_the_foreground_took_was_not_written_in_vain() {
    let mut launder = Launder::default();
    pass(&mut launder, Nanos::ZERO, FULL);
    assert_eq!(launder.step(Nanos::from_secs(1), &LaunderView { is_short: true, ..FULL }), None);
    assert!(launder.step(MOST_PAUSE, &FULL).is_some());
    assert_eq!(launder.pause(), LEAST_PAUSE);
}

proptest! {
    #[test]
    fn never_more_than_the_job_has_nor_into_the_second_half_of_the_swap(
        views in proptest::collection::vec((0_u64..200, 0_u64..200, 0_u64..200, 0_u64..600, any::<bool>()), 1..60),
    ) {
        let mut launder = Launder::default();
        let mut now = Nanos::ZERO;
        for (free, job, clean, free_swap, is_short) in views {
            now = now.plus(Nanos::from_secs(3));
            let view = LaunderView {
                free_bytes: free * MIB,
                job_bytes: job * MIB,
                clean_bytes: clean.min(job) * MIB,
                swap_bytes: 600 * MIB,
                free_swap_bytes: free_swap * MIB,
                is_short,
                ..FULL
            };
            if let Some(bytes) = launder.step(now, &view) {
                prop_assert!(!is_short && view.clean_bytes < view.job_bytes);
                prop_assert!((1..=PIECE_BYTES).contains(&bytes));
                prop_assert!(view.free_swap_bytes - bytes >= view.swap_bytes / 2);
                launder.wrote(bytes);
            }
        }
    }
}
