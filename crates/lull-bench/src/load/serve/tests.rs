use super::*;

fn args(seconds: f64, warmup: Nanos) -> ServeArgs {
    ServeArgs {
        shift: ShiftArgs { warmup, seconds: Some(seconds), json: true },
        load: 50,
        service: Nanos::from_micros(200),
        reads: Some(10),
        buffer: Bytes(4096),
        spread: Spread::Exponential,
        seed: 9,
        beats: BeatArgs { beat: Nanos::ZERO },
    }
}

#[test]
fn every_scheduled_arrival_of_the_window_is_counted_once() {
    let report = run(&args(0.3, Nanos::from_millis(100))).unwrap();
    // The same arrivals, counted from the schedule alone: after the warm-up, before the end.
    let start = Nanos(report.started_ns - 100_000_000);
    let (begun, end) = (Nanos(report.started_ns), Nanos(report.started_ns + 300_000_000));
    let due = Arrivals::new([start, begun], Nanos::from_micros(400), Spread::Exponential, 9)
        .take_while(|at| *at < end)
        .filter(|at| *at >= begun)
        .count();
    assert_eq!((report.requests, report.ended_ns), (due as u64, end.as_nanos()));
    assert_eq!(report.unfinished, 0);
    let latency = report.latency.unwrap();
    assert!(latency.mean_ns > 0 && latency.p999_ns >= latency.p99_ns && report.busy_ns > 0, "{report:?}");
}

/// A pipe that holds these arrivals and is closed.
fn filled(arrivals: &[Nanos]) -> File {
    let (reading, writing) = nix::unistd::pipe().unwrap();
    let mut writing = File::from(writing);
    for arrival in arrivals {
        writing.write_all(&arrival.as_nanos().to_ne_bytes()).unwrap();
    }
    File::from(reading)
}

#[test]
fn latency_counts_from_the_schedule_and_the_warm_up_does_not_count() {
    let now = clock::now();
    let ago = |millis| now.since(Nanos::from_millis(millis));
    let work = RandomReads::new(Bytes(64), 1).unwrap();
    let pipe = filled(&[ago(900), ago(500), ago(400)]);
    let served = serve(pipe, work, 1, ago(600), &AtomicU64::new(u64::MAX), Arms::new(None)).unwrap();
    let served = served.report("cpu-serve", ago(600), now);
    let summary = served.latency.unwrap();
    assert_eq!((served.requests, served.unfinished), (2, 0));
    assert!(summary.mean_ns >= 450_000_000 && summary.max_ns >= 499_000_000, "{summary:?}");
}

#[test]
fn a_backlog_that_is_given_up_counts_with_its_age() {
    let arrival = clock::now().since(Nanos::from_secs(1));
    let work = RandomReads::new(Bytes(64), 1).unwrap();
    // So many reads that a request that was begun would not end.
    let pipe = filled(&[arrival; 3]);
    let served = serve(pipe, work, u64::MAX, arrival, &AtomicU64::new(0), Arms::new(None)).unwrap();
    let served = served.report("cpu-serve", arrival, clock::now());
    assert_eq!((served.requests, served.unfinished, served.busy_ns), (3, 3, 0));
    assert!(served.latency.unwrap().mean_ns >= 1_000_000_000);
}
