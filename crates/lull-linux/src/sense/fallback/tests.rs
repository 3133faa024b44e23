use proptest::prelude::*;

use super::read::parse_device;
use super::*;

const MS: u64 = 1_000_000;

fn counts(reads: u64, read_bytes: u64, reads_in_flight: u32) -> DeviceCounts {
    DeviceCounts { reads, read_bytes, reads_in_flight, ..DeviceCounts::default() }
}

fn job(read_bytes: u64) -> JobIo {
    JobIo { read_bytes, write_bytes: 0 }
}

/// An account whose zero is taken on an idle device.
fn begun() -> Account {
    let mut account = Account::default();
    account.update(Nanos(MS), DeviceCounts::default(), JobIo::default());
    account
}

#[test]
fn what_the_job_did_not_do_is_foreground() {
    let mut account = begun();
    let seen = account.update(Nanos(2 * MS), counts(10, 40_960, 0), job(0));
    assert_eq!((seen.foreground.ended, seen.background.ended), (10, 0));
    assert_eq!((seen.foreground.last_end, seen.foreground.last_start), (Nanos(2 * MS), Nanos(2 * MS)));
    assert_eq!(seen.background.last_end, Nanos::ZERO);
}

#[test]
fn what_the_job_did_is_background_alone() {
    let mut account = begun();
    let seen = account.update(Nanos(2 * MS), counts(4, 262_144, 0), job(262_144));
    assert_eq!((seen.foreground.ended, seen.background.ended), (0, 4));
    assert_eq!(seen.foreground.last_start, Nanos::ZERO);
}

#[test]
fn a_mixture_is_split_by_bytes_in_favour_of_the_foreground() {
    let mut account = begun();
    let seen = account.update(Nanos(2 * MS), counts(10, 100_000, 0), job(99_000));
    assert_eq!((seen.foreground.ended, seen.background.ended), (1, 9));
}

#[test]
fn once_the_job_s_requests_are_known_by_size_a_mixture_is_split_by_it() {
    let mut account = begun();
    account.update(Nanos(2 * MS), counts(4, 1 << 20, 0), job(1 << 20));
    let seen = account.update(Nanos(3 * MS), counts(4 + 4 + 10, (2 << 20) + 40_960, 0), job(2 << 20));
    assert_eq!((seen.foreground.ended, seen.background.ended), (10, 8));
}

#[test]
fn a_read_submitted_in_one_sample_and_done_in_the_next_is_the_job_s() {
    let mut account = begun();
    let seen = account.update(Nanos(2 * MS), counts(0, 0, 1), job(65_536));
    assert_eq!((seen.foreground.in_service, seen.background.in_service), (0, 1));
    assert_eq!(seen.background.started, 1);
    let seen = account.update(Nanos(3 * MS), counts(1, 65_536, 0), job(65_536));
    assert_eq!((seen.foreground.ended, seen.background.ended), (0, 1));
}

#[test]
fn a_read_submitted_after_the_device_was_looked_at_is_the_job_s() {
    let mut account = begun();
    account.update(Nanos(2 * MS), counts(0, 0, 0), job(65_536));
    let seen = account.update(Nanos(3 * MS), counts(1, 65_536, 0), job(65_536));
    assert_eq!(seen.foreground.ended, 0);
}

#[test]
fn reads_from_another_disk_do_not_hide_the_foreground_for_long() {
    let mut account = begun();
    account.update(Nanos(2 * MS), counts(0, 0, 0), job(1 << 30));
    account.update(Nanos(3 * MS), counts(0, 0, 0), job(1 << 30));
    let seen = account.update(Nanos(4 * MS), counts(10, 40_960, 0), job(1 << 30));
    assert_eq!(seen.foreground.ended, 10);
}

#[test]
fn dirtied_bytes_explain_write_back_and_fade() {
    let write = |writes, write_bytes| DeviceCounts { writes, write_bytes, ..DeviceCounts::default() };
    let dirtied = JobIo { read_bytes: 0, write_bytes: 1 << 20 };
    let mut account = begun();
    account.update(Nanos(2 * MS), write(0, 0), dirtied);
    let seen = account.update(Nanos(5_000 * MS), write(1, 1 << 19), dirtied);
    assert_eq!(
        (seen.foreground.ended, seen.background.ended),
        (0, 1),
        "write-back within seconds is the job's"
    );
    account.update(Nanos(3_600_000 * MS), write(1, 1 << 19), dirtied);
    let seen = account.update(Nanos(3_600_001 * MS), write(2, 1 << 20), dirtied);
    assert_eq!(
        (seen.foreground.ended, seen.background.ended),
        (1, 1),
        "an hour later nothing is left to explain it"
    );
}

#[test]
fn even_a_small_credit_fades_at_short_samples() {
    let mut account = begun();
    let dirtied = JobIo { read_bytes: 0, write_bytes: 4096 };
    for ms in 2..10_000 {
        account.update(Nanos(ms * MS), DeviceCounts::default(), dirtied);
    }
    let write = DeviceCounts { writes: 1, write_bytes: 4096, ..DeviceCounts::default() };
    assert_eq!(account.update(Nanos(10_000 * MS), write, dirtied).foreground.ended, 1);
}

#[test]
fn requests_in_flight_beyond_the_job_s_are_foreground() {
    let mut account = begun();
    account.update(Nanos(2 * MS), counts(4, 4 * 65_536, 0), job(4 * 65_536));
    let seen = account.update(Nanos(3 * MS), counts(5, 5 * 65_536, 6), job(7 * 65_536));
    assert_eq!((seen.background.in_service, seen.foreground.in_service), (2, 4));
    assert_eq!(seen.foreground.started, 4);
}

#[test]
fn the_first_sample_takes_what_is_in_flight_as_foreground() {
    let seen = Account::default().update(Nanos(MS), counts(1_000, 1 << 30, 3), job(1 << 20));
    assert_eq!((seen.foreground.in_service, seen.foreground.ended, seen.background.started), (3, 0, 0));
}

#[test]
fn counters_parse_from_both_files_and_nothing_else() {
    let stat =
        "   31181     7064  5085218    48779    12262    14469  8085904    30521        0    27248    80504";
    let found = parse_device(stat, "       2        1").unwrap();
    assert_eq!((found.reads, found.read_bytes), (31_181, 5_085_218 * 512));
    assert_eq!((found.writes, found.write_bytes), (12_262, 8_085_904 * 512));
    assert_eq!((found.reads_in_flight, found.writes_in_flight), (2, 1));
    assert_eq!(parse_device("1 2 3", "0 0"), None);
    assert_eq!(parse_device(stat, "0"), None);
}

#[test]
fn a_sensor_reads_a_tree_and_names_the_file_that_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("sys/block/sdx/stat", "8 0 64 0 0 0 0 0 0 0 0\n"),
        ("sys/block/sdx/inflight", "0 0\n"),
        ("proc/7/io", "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n"),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let root = Root::at(dir.path());
    assert_eq!(JobIo::of_processes(&root, [7, 8]), JobIo { read_bytes: 4096, write_bytes: 4096 });
    let mut sensor = FallbackSensor::new("sdx", root.clone());
    sensor.sample(Nanos(MS), || JobIo::of_processes(&root, [7])).unwrap();
    std::fs::write(dir.path().join("sys/block/sdx/stat"), "9 0 72 0 0 0 0 0 0 0 0\n").unwrap();
    let seen = sensor.sample(Nanos(2 * MS), || JobIo::of_processes(&root, [7])).unwrap();
    assert_eq!(seen.foreground.ended, 1);
    std::fs::write(dir.path().join("sys/block/sdx/inflight"), "?\n").unwrap();
    let error = sensor.sample(Nanos(3 * MS), JobIo::default).unwrap_err().to_string();
    assert!(error.contains("sdx"), "{error}");
    assert!(FallbackSensor::new("gone", root).sample(Nanos(MS), JobIo::default).is_err());
}

proptest! {
    /// However the samples fall: counts only grow, every completion belongs to one class, and what is in flight too.
    #[test]
    fn nothing_is_lost_and_nothing_counted_twice(
        steps in proptest::collection::vec((0_u64..50, 0_u64..1 << 20, 0_u32..9, 0_u64..1 << 20, 0_u64..100), 1..40)
    ) {
        let mut account = begun();
        let mut device = DeviceCounts::default();
        let mut done = JobIo::default();
        let mut now = Nanos(MS);
        let mut before = Observation::default();
        for (requests, bytes, in_flight, mine, passed) in steps {
            device.reads += requests;
            device.read_bytes += if requests == 0 { 0 } else { bytes };
            device.reads_in_flight = in_flight;
            done.read_bytes += mine;
            now = now.plus(Nanos::from_millis(passed));
            let seen = account.update(now, device, done);
            prop_assert_eq!(seen.foreground.ended + seen.background.ended, device.reads);
            prop_assert_eq!(seen.foreground.in_service + seen.background.in_service, in_flight);
            for (new, old) in [(seen.foreground, before.foreground), (seen.background, before.background)] {
                prop_assert!(new.started >= old.started && new.ended >= old.ended && new.last_end >= old.last_end);
                prop_assert!(new.started >= new.ended && new.last_start <= now);
            }
            before = seen;
        }
    }
}
