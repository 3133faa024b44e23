use std::path::Path;

use super::*;
use crate::units::Bytes;

fn args(file: &Path) -> ReaderArgs {
    ReaderArgs {
        common: CommonArgs {
            file: file.to_owned(),
            block: Bytes(4096),
            seconds: None,
            requests: Some(100),
            seed: 1,
            progress: None,
            json: true,
        },
        think: Nanos::from_micros(10),
        spread: Spread::Exponential,
        random: true,
        direct: false,
        hot: false,
        warmup: Nanos::ZERO,
        every: None,
    }
}

fn data(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let path = dir.path().join("data");
    std::fs::write(&path, vec![1_u8; 64 * 1024]).unwrap();
    path
}

#[test]
fn counts_what_it_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut args = args(&data(&dir));
    let counters = dir.path().join("progress");
    let progress = Progress::create(&counters).unwrap();
    args.common.progress = Some(counters);
    let report = run(&args, &mut |_| Ok(())).unwrap();
    assert_eq!((report.requests, report.bytes), (100, 409_600));
    assert_eq!((progress.requests(), progress.bytes()), (100, 409_600));
    let latency = report.latency.unwrap();
    assert!(latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.max_ns && latency.p50_ns > 0);
    assert!(report.busy_ns <= report.ended_ns - report.started_ns);
}

#[test]
fn the_warm_up_is_not_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut args = args(&data(&dir));
    let counters = dir.path().join("progress");
    let progress = Progress::create(&counters).unwrap();
    args.common.progress = Some(counters);
    args.warmup = Nanos::from_millis(20);
    let report = run(&args, &mut |_| Ok(())).unwrap();
    assert_eq!(report.requests, 100);
    assert!(progress.requests() > 100, "{}", progress.requests());
}

#[test]
fn every_request_is_in_one_period() {
    let dir = tempfile::tempdir().unwrap();
    let mut args = args(&data(&dir));
    args.every = Some(Nanos(1));
    let mut seen = 0;
    let report = run(&args, &mut |line| {
        let LoadLine::Period(period) = line else { panic!("a total among the periods") };
        seen += period.requests;
        Ok(())
    });
    assert_eq!(seen, report.unwrap().requests);
}

#[test]
fn a_report_survives_json() {
    let dir = tempfile::tempdir().unwrap();
    let line = LoadLine::Total(run(&args(&data(&dir)), &mut |_| Ok(())).unwrap());
    let text = serde_json::to_string(&line).unwrap();
    assert!(text.starts_with(r#"{"record":"total","load":"disk-read","requests":100"#), "{text}");
    assert_eq!(serde_json::from_str::<LoadLine>(&text).unwrap(), line);
}
