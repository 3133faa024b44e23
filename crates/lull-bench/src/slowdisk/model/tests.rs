use proptest::prelude::*;

use super::*;

/// Mean service time of `count` back-to-back random reads of `length` bytes.
fn random_reads(length: u64, count: u64) -> Nanos {
    let geometry = Geometry::default();
    let mut disk = Mechanism::new(geometry);
    let mut random = fastrand::Rng::with_seed(1);
    let mut now = Nanos::ZERO;
    for _ in 0..count {
        let offset = random.u64(0..geometry.size.0 / length) * length;
        now = disk.serve(now, Access::Read, offset, length);
    }
    Nanos(now.as_nanos() / count)
}

#[test]
fn a_random_read_takes_about_twenty_milliseconds() {
    for length in [512, 4096] {
        let mean = random_reads(length, 20_000);
        assert!((19_000_000..21_000_000).contains(&mean.as_nanos()), "{mean}");
    }
}

#[test]
fn sequential_reads_run_at_the_speed_of_the_media() {
    let geometry = Geometry::default();
    let mut disk = Mechanism::new(geometry);
    let (length, count) = (64 * Bytes::KIB, 2_000);
    let mut now = Nanos::ZERO;
    for index in 0..count {
        now = disk.serve(now, Access::Read, index * length, length);
    }
    let rate = (count * length) as f64 / now.as_secs_f64();
    let media = geometry.track.0 as f64 / geometry.rotation.as_secs_f64();
    assert!(rate > 0.97 * media && rate <= media * 1.01, "{rate} of {media}");
}

#[test]
fn a_pause_fills_the_buffer_but_not_beyond_its_size() {
    let geometry = Geometry::default();
    let mut disk = Mechanism::new(geometry);
    let first = disk.serve(Nanos::ZERO, Access::Read, 0, 4096);
    let later = first.plus(Nanos::from_secs(10));
    let whole_buffer = disk.serve(later, Access::Read, 4096, geometry.read_ahead.0);
    assert_eq!(whole_buffer.since(later), geometry.overhead);
    let beyond = disk.serve(whole_buffer, Access::Read, 4096 + geometry.read_ahead.0, 64 * Bytes::KIB);
    assert!(beyond.since(whole_buffer) > geometry.overhead);
}

#[test]
fn a_write_ends_the_read_ahead() {
    let mut disk = Mechanism::new(Geometry::default());
    let first = disk.serve(Nanos::ZERO, Access::Read, 0, 4096);
    let write = disk.serve(first, Access::Write, 4_000_000_000, 4096);
    let again = disk.serve(write, Access::Read, 4096, 4096);
    assert!(again.since(write) > Nanos::from_millis(10));
}

proptest! {
    #[test]
    fn one_at_a_time_and_never_faster_than_physics(
        requests in prop::collection::vec((0_u64..50_000_000, any::<bool>(), 0_u64..2_000_000, 1_u64..256), 1..200),
    ) {
        let geometry = Geometry::default();
        let mut disk = Mechanism::new(geometry);
        let (mut now, mut previous) = (Nanos::ZERO, Nanos::ZERO);
        let slowest_turn = geometry.seek_full.plus(geometry.rotation).plus(geometry.overhead);
        for (gap, read, block, blocks) in requests {
            now = now.plus(Nanos(gap));
            let (offset, length) = (block * 4096, blocks * 512);
            let kind = if read { Access::Read } else { Access::Write };
            let done = disk.serve(now, kind, offset, length);
            let start = now.max(previous);
            prop_assert!(done >= start.plus(geometry.overhead), "{done} from {start}");
            let transfer = Nanos(whole(length as f64 / geometry.track.0 as f64 * geometry.rotation.as_nanos() as f64));
            // A read-ahead that is nearly there can take as long as a full buffer to arrive.
            let fill = Nanos(whole(geometry.read_ahead.0 as f64 / geometry.track.0 as f64 * geometry.rotation.as_nanos() as f64));
            let slowest = slowest_turn.max(fill).plus(transfer);
            prop_assert!(done.since(start) <= slowest, "{} for {length} bytes", done.since(start));
            previous = done;
        }
    }

    #[test]
    fn longer_seeks_take_longer(near in 1_u64..8_200, far in 1_u64..8_200) {
        let disk = Mechanism::new(Geometry::default());
        let [near, far] = [near.min(far), near.max(far)].map(|n| n * 1_000_000);
        prop_assert!(disk.seek(near) <= disk.seek(far));
        prop_assert!(disk.seek(far) <= Geometry::default().seek_full);
    }
}
