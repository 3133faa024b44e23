use super::*;

#[test]
fn reads_scale_with_the_time_wanted() {
    let mut times = [90, 100, 100, 100, 5_000].map(Nanos::from_micros);
    assert_eq!(reads_for(Nanos::from_micros(800), 1_000, &mut times), Some(8_000));
    assert_eq!(reads_for(Nanos::from_micros(50), 1_000, &mut times), Some(500));
    assert_eq!(reads_for(Nanos(1), 1_000, &mut times), Some(1), "never none at all");
}

#[test]
fn one_disturbed_batch_in_two_does_not_count_and_no_time_gives_nothing() {
    let mut disturbed = [100, 100, 100, 9_000, 9_000].map(Nanos::from_micros);
    assert_eq!(reads_for(Nanos::from_micros(200), 10, &mut disturbed), Some(20));
    assert_eq!(reads_for(Nanos::from_micros(200), 10, &mut []), None);
    assert_eq!(reads_for(Nanos::from_micros(200), 10, &mut [Nanos::ZERO; 3]), None);
}

#[test]
fn the_same_work_visits_the_same_places_and_covers_the_buffer() {
    let walk = |reads: u64| {
        let mut work = RandomReads::new(Bytes(4096), 5).unwrap();
        work.run(reads);
        work.state
    };
    assert_eq!(walk(1_000), walk(1_000));
    assert_ne!(walk(1_000), walk(1_001));
    let mut work = RandomReads::new(Bytes(64), 5).unwrap();
    let mut seen = [false; 8];
    for _ in 0..200 {
        seen[usize::try_from(((work.state >> 32) * 8) >> 32).unwrap()] = true;
        work.run(1);
    }
    assert_eq!(seen, [true; 8]);
}

#[test]
fn a_buffer_without_a_word_is_refused() {
    let error = RandomReads::new(Bytes(7), 1).unwrap_err().to_string();
    assert!(error.contains("--buffer 7B"), "{error}");
}

#[test]
fn a_calibration_finds_some_number_and_a_longer_request_has_more_reads() {
    let short = calibrate(Nanos::from_micros(20), Bytes(4096)).unwrap();
    let long = calibrate(Nanos::from_millis(2), Bytes(4096)).unwrap();
    assert!(short >= 1 && long > short, "{short} {long}");
}
