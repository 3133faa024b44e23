use super::*;

fn args(interval: Nanos) -> WakeupArgs {
    let shift = ShiftArgs { warmup: Nanos::from_millis(20), seconds: Some(0.1), json: true };
    WakeupArgs { shift, beats: BeatArgs { beat: Nanos::ZERO }, interval }
}

#[test]
fn every_cpu_wakes_at_every_interval_of_the_window() {
    let report = run(&args(Nanos::from_millis(2))).unwrap();
    let each = 50;
    assert_eq!(report.requests, each * cpus().unwrap().len() as u64);
    assert_eq!(report.ended_ns - report.started_ns, 100_000_000);
    assert!(report.latency.unwrap().max_ns > 0);
}

#[test]
fn instants_that_were_missed_count_each() {
    let cpu = cpus().unwrap()[0];
    let now = clock::now();
    let start = now.since(Nanos::from_millis(500));
    let missed =
        thread::spawn(move || wake(cpu, start, &args(Nanos::from_millis(1)), start, now)).join().unwrap();
    let missed = missed.unwrap().report("cpu-wakeup", start, now);
    assert_eq!(missed.requests, 500);
    let latency = missed.latency.unwrap();
    assert!(latency.max_ns >= 500_000_000 && latency.mean_ns >= 250_000_000);
}

#[test]
fn no_interval_is_refused() {
    assert!(run(&args(Nanos::ZERO)).unwrap_err().to_string().contains("--interval 0"));
}
