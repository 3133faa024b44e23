use super::*;

fn ms(time: u64) -> Nanos {
    Nanos::from_millis(time)
}

fn request(arrival: u64, from: u64, to: u64) -> Served {
    Served { arrival: ms(arrival), from: ms(from), to: ms(to), given_up: false }
}

#[test]
fn without_beats_all_is_loaded() {
    let mut arms = Arms::new(None);
    arms.record(&request(0, 1, 3));
    arms.record(&request(2, 3, 5));
    arms.record(&request(10, 10, 11));
    let report = arms.report("cpu-serve", ms(0), ms(20));
    assert_eq!((report.requests, report.quiet), (3, None));
    assert_eq!(report.busy_ns, ms(5).0);
    // The second came before the first had ended, the third did not.
    assert_eq!((report.bursts, report.burst_ns, report.beats), (2, ms(6).0, Vec::new()));
}

#[test]
fn requests_count_in_the_beat_of_their_arrival() {
    let beats = Beats::of(ms(1_000)).unwrap();
    let mut arms = Arms::new(Some(beats));
    let mut counted = [0, 0];
    for arrival in (0..20_000).step_by(50) {
        match beats.counted(ms(arrival)) {
            Some(Beat::Loaded) => counted[0] += 1,
            Some(Beat::Quiet) => counted[1] += 1,
            None => {}
        }
        let took = if beats.at(ms(arrival)) == Beat::Loaded { 4 } else { 2 };
        arms.record(&request(arrival, arrival, arrival + took));
    }
    let report = arms.report("cpu-serve", ms(0), ms(20_000));
    let quiet = report.quiet.unwrap();
    assert_eq!([report.requests, quiet.requests], counted);
    assert_eq!(report.latency.unwrap().mean_ns, ms(4).0);
    assert_eq!(quiet.latency.unwrap().mean_ns, ms(2).0);
    assert_eq!([report.seconds, quiet.seconds], [10.0, 10.0]);
    assert_eq!(quiet.burst_ns, quiet.bursts * ms(2).0);
    for (report, took) in [(report.beats, ms(4)), (quiet.beats, ms(2))] {
        assert_eq!(report.iter().map(|beat| beat.pair).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        // 50 ms apart in a second, or in what the washout leaves of it.
        assert!(report.iter().all(|beat| beat.burst_ns == beat.bursts * took.0), "{report:?}");
        assert!(report.iter().all(|beat| [16, 20].contains(&beat.bursts)), "{report:?}");
    }
}

#[test]
fn threads_add_up() {
    let mut all = Arms::new(None);
    for thread in 0..3 {
        let mut arms = Arms::new(None);
        arms.record(&request(thread, thread, thread + 1));
        all.merge(arms);
    }
    let report = all.report("cpu-wakeup", ms(0), ms(10));
    assert_eq!((report.requests, report.bursts, report.burst_ns), (3, 3, ms(3).0));
}
