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

/// What is counted when a request comes every 10 ms for 20 s and each takes so long in loaded and in quiet
/// beats.
fn queued(took_ms: [u64; 2]) -> LoadReport {
    let beats = Beats::of(ms(500)).unwrap();
    let (mut arms, mut free) = (Arms::new(Some(beats)), 0);
    for arrival in (0..20_000).step_by(10) {
        let from = arrival.max(free);
        free = from + took_ms[usize::from(beats.at(ms(arrival)) == Beat::Quiet)];
        arms.record(&request(arrival, from, free));
    }
    arms.report("cpu-serve", ms(0), ms(20_000))
}

#[test]
fn a_queue_that_quiet_beats_do_not_empty_is_an_overrun() {
    assert!(queued([12, 12]).is_overrun(), "more comes than can be served at all times");
    assert!(queued([19, 2]).is_overrun(), "a loaded beat leaves more than a quiet one has time for");
    let harmed = queued([11, 2]);
    assert!(!harmed.is_overrun(), "what a loaded beat leaves is gone after the washout: {harmed:?}");
    assert!(harmed.latency.unwrap().mean_ns > 5 * harmed.quiet.unwrap().latency.unwrap().mean_ns);
    assert!(!queued([8, 8]).is_overrun());
}

#[test]
fn a_closed_loop_is_never_overrun_and_who_gives_up_always_is() {
    let closed = queued([10, 10]);
    assert_eq!(
        (closed.quiet.as_ref().unwrap().carried, closed.is_overrun()),
        (0, false),
        "one follows the other"
    );
    let mut arms = Arms::new(None);
    arms.record(&Served { given_up: true, ..request(0, 5, 5) });
    assert!(arms.report("cpu-serve", ms(0), ms(10)).is_overrun());
}
