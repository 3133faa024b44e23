use proptest::prelude::*;

use super::{LEAST_PAUSE, MOST_PAUSE, PIECE_BYTES, SwapAhead, SwapAheadView};
use crate::base::time::Nanos;

const MIB: u64 = 1 << 20;

/// A job of 128 MiB in 192, all of it dirty.
const FULL: SwapAheadView = SwapAheadView {
    total_bytes: 192 * MIB,
    free_bytes: 40 * MIB,
    job_bytes: 128 * MIB,
    clean_bytes: 0,
    swap_bytes: 1024 * MIB,
    free_swap_bytes: 1024 * MIB,
    is_short: false,
};

/// Writes until there is nothing to write; how much is then clean, and how much was written.
fn pass(ahead: &mut SwapAhead, now: Nanos, mut view: SwapAheadView) -> (u64, u64) {
    let mut written = 0;
    while let Some(bytes) = ahead.step(now, &view) {
        ahead.wrote(bytes);
        view.clean_bytes += bytes;
        written += bytes;
    }
    (view.clean_bytes, written)
}

#[test]
fn half_of_the_memory_can_then_be_had_without_a_write() {
    let mut ahead = SwapAhead::default();
    assert_eq!(pass(&mut ahead, Nanos::ZERO, FULL), (56 * MIB, 56 * MIB));
    let small = SwapAheadView { job_bytes: 20 * MIB, ..FULL };
    assert_eq!(pass(&mut SwapAhead::default(), Nanos::ZERO, small), (20 * MIB, 20 * MIB), "all it has");
}

#[test]
fn nothing_is_written_where_nothing_is_gained() {
    for view in [
        SwapAheadView { free_bytes: 100 * MIB, ..FULL },
        SwapAheadView { is_short: true, ..FULL },
        SwapAheadView { free_swap_bytes: 512 * MIB, ..FULL },
        SwapAheadView { swap_bytes: 0, free_swap_bytes: 0, ..FULL },
        SwapAheadView { clean_bytes: 50 * MIB, ..FULL },
    ] {
        assert_eq!(SwapAhead::default().step(Nanos::ZERO, &view), None, "{view:?}");
    }
}

#[test]
fn a_pass_ends_though_the_job_makes_everything_dirty_again() {
    let mut ahead = SwapAhead::default();
    let mut written = 0;
    while let Some(bytes) = ahead.step(Nanos::ZERO, &FULL) {
        ahead.wrote(bytes);
        written += bytes;
    }
    assert_eq!(written, FULL.job_bytes, "once over all of it");
    let just_before = Nanos(LEAST_PAUSE.0 - 1);
    assert_eq!(ahead.step(just_before, &FULL), None);
    assert_eq!(ahead.step(LEAST_PAUSE, &FULL), Some(PIECE_BYTES));
    assert_eq!(ahead.pause(), Nanos(2 * LEAST_PAUSE.0), "nothing of it was left");
}

#[test]
fn useless_passes_become_rare_and_useful_ones_do_not() {
    let mut ahead = SwapAhead::default();
    let mut now = Nanos::ZERO;
    for _ in 0..12 {
        pass(&mut ahead, now, FULL);
        now = now.plus(MOST_PAUSE);
    }
    assert_eq!(ahead.pause(), MOST_PAUSE);
    // Of the latest 56 MiB more than half stayed clean, but others have taken memory.
    let kept = SwapAheadView { clean_bytes: 40 * MIB, free_bytes: 10 * MIB, ..FULL };
    assert_eq!(pass(&mut ahead, now, kept), (86 * MIB, 46 * MIB));
    assert_eq!(ahead.pause(), LEAST_PAUSE);
}

#[test]
fn what_the_foreground_took_was_not_written_in_vain() {
    let mut ahead = SwapAhead::default();
    pass(&mut ahead, Nanos::ZERO, FULL);
    assert_eq!(ahead.step(Nanos::from_secs(1), &SwapAheadView { is_short: true, ..FULL }), None);
    assert!(ahead.step(MOST_PAUSE, &FULL).is_some());
    assert_eq!(ahead.pause(), LEAST_PAUSE);
}

proptest! {
    #[test]
    fn never_more_than_the_job_has_nor_into_the_second_half_of_the_swap(
        views in proptest::collection::vec((0_u64..200, 0_u64..200, 0_u64..200, 0_u64..600, any::<bool>()), 1..60),
    ) {
        let mut ahead = SwapAhead::default();
        let mut now = Nanos::ZERO;
        for (free, job, clean, free_swap, is_short) in views {
            now = now.plus(Nanos::from_secs(3));
            let view = SwapAheadView {
                free_bytes: free * MIB,
                job_bytes: job * MIB,
                clean_bytes: clean.min(job) * MIB,
                swap_bytes: 600 * MIB,
                free_swap_bytes: free_swap * MIB,
                is_short,
                ..FULL
            };
            if let Some(bytes) = ahead.step(now, &view) {
                prop_assert!(!is_short && view.clean_bytes < view.job_bytes);
                prop_assert!((1..=PIECE_BYTES).contains(&bytes));
                prop_assert!(view.free_swap_bytes - bytes >= view.swap_bytes / 2);
                ahead.wrote(bytes);
            }
        }
    }
}
