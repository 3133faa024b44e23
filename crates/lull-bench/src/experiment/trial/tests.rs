use std::ffi::OsString;

use super::*;
use crate::record::Background;

#[test]
fn bytes_between_samples_are_in_proportion() {
    let samples = [(Nanos(100), 10), (Nanos(200), 30), (Nanos(200), 30), (Nanos(300), 30)];
    for (time, bytes) in [(0, 10), (100, 10), (150, 20), (199, 30), (200, 30), (250, 30), (999, 30)] {
        assert_eq!(at(&samples, Nanos(time)), bytes, "at {time}");
    }
    assert_eq!(at(&[], Nanos(5)), 0);
}

fn job(script: &str, meter: Meter) -> Job {
    Job::of(["sh", "-c", script].iter().map(OsString::from).collect(), meter)
}

fn window() -> Window {
    Window { warmup: Nanos::ZERO, length: Nanos::from_millis(300) }
}

#[test]
fn a_job_that_ends_by_itself_ends_the_window() {
    let program = Program::new("/no/such/program".into());
    let job = job("printf 12345; sleep 0.1; printf 67890", Meter::Output);
    let long = Window { length: Nanos::from_secs(1_000), ..window() };
    let outcome = run(None, Some(job), long, &program, &mut |_| ()).unwrap();
    let background = outcome.background.unwrap();
    assert!(background.window_s < 900.0 && background.bytes <= 10);
    assert!(outcome.notes.iter().any(|note| note.contains("no more work")), "{:?}", outcome.notes);
}

#[test]
fn an_endless_job_is_stopped_and_its_lines_counted() {
    let program = Program::new("/no/such/program".into());
    let job =
        job("while :; do echo x; sleep 0.01; done", Meter::Lines(Box::new(|line| 100 * line.len() as u64)));
    let outcome = run(None, Some(job), window(), &program, &mut |_| ()).unwrap();
    let background = outcome.background.unwrap();
    assert!(background.bytes > 0, "{background:?}");
    assert_eq!(outcome.notes, Vec::<String>::new());
}

#[test]
fn a_failing_job_is_an_error_with_its_last_words() {
    let program = Program::new("/no/such/program".into());
    let job = job("echo no luck >&2; exit 9", Meter::Output);
    let error = run(None, Some(job), window(), &program, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("exit status: 9") && error.contains("no luck"), "{error}");
}

/// A load that counts once, says at its end that it used `own`, and runs under a "control" that computes
/// beside it.
fn controlled(own: Nanos) -> Background {
    let program = Program::new("/no/such/program".into());
    let file = ProgressFile::create().unwrap();
    file.progress().add(1);
    let report = LoadReport { load: "x".to_owned(), cpu_ns: Some(own.as_nanos()), ..LoadReport::default() };
    let line = serde_json::to_string(&LoadLine::Total(report)).unwrap();
    let script = format!("trap \"echo '{}'; exit 0\" TERM; while :; do :; done", line.replace('"', "\\\""));
    let job = job(&script, Meter::Progress(Box::new(file)));
    let outcome = run(None, Some(job), window(), &program, &mut |_| ()).unwrap();
    outcome.background.unwrap()
}

#[test]
fn the_cost_of_control_is_what_the_tree_used_beyond_the_load() {
    let background = controlled(Nanos(1));
    let (all, control) = (background.cpu_s.unwrap(), background.control_cpu_s.unwrap());
    assert!(all > 0.0 && (all - control - 1e-9).abs() < 1e-12, "{background:?}");
    assert!(background.life_s.unwrap() >= 0.3, "{background:?}");
}

#[test]
fn a_tree_that_was_not_waited_for_has_no_known_cost_of_control() {
    assert_eq!(controlled(Nanos::from_secs(1_000)).control_cpu_s, None);
}
