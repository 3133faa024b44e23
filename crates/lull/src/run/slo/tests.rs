use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

#[test]
fn choices_are_told_apart() {
    let choice: SloChoice = "rate: while :; do echo 5; done".parse().unwrap();
    assert!(choice.is_rate);
    assert_eq!(choice.source, Source::Command("while :; do echo 5; done".to_owned()));
    let choice: SloChoice = "http://localhost:9/metrics p99_seconds".parse().unwrap();
    let page =
        Source::Page { url: "http://localhost:9/metrics".to_owned(), metric: "p99_seconds".to_owned() };
    assert_eq!((choice.source, choice.is_rate), (page, false));
}

#[test]
fn what_makes_no_sense_is_refused_with_the_next_step() {
    for (text, hint) in
        [("", "command"), ("rate:", "command"), ("http://x/m", "METRIC"), ("https://x m", "curl")]
    {
        let error = text.parse::<SloChoice>().unwrap_err();
        assert!(error.contains(hint), "{text}: {error}");
    }
}

#[test]
fn the_first_number_of_a_line_counts() {
    assert_eq!(number_in("p99 = 12.5 ms of 3"), Some(12.5));
    assert_eq!(number_in("latency:0.4ms"), Some(0.4));
    assert_eq!(number_in("1e3"), Some(1000.0));
    assert_eq!(number_in("no number e here, nan"), None);
    assert_eq!(number_in(""), None);
}

#[test]
fn a_metric_is_found_by_its_whole_name() {
    let text = "# HELP lat seconds\nlatency_sum 9\nlatency{q=\"0.5\"} 0.25 1700\nother 1\n";
    assert_eq!(metric_in(text, "latency"), Some(0.25));
    assert_eq!(metric_in(text, "latency{q=\"0.5\"}"), Some(0.25));
    assert_eq!(metric_in(text, "lat"), None);
    assert_eq!(metric_in(text, "missing"), None);
}

#[test]
fn a_command_s_lines_are_summed_and_it_ends_with_its_owner() {
    let choice = "echo $$; echo none; echo 2.5; exec sleep 1000".parse().unwrap();
    let slo = Slo::start(&choice).unwrap();
    let reading = loop {
        let reading = slo.reading(Nanos(7));
        if reading.count == 2 {
            break reading;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let shell = slo.command.as_ref().unwrap().id();
    assert_eq!(reading.sum, u64::from(shell) * 1_000_000 + 2_500_000);
    assert_eq!(reading.work, 7);
    drop(slo);
    assert!(!std::path::Path::new(&format!("/proc/{shell}")).exists());
}

#[test]
fn a_page_is_asked() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", server.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut client in server.incoming().flatten() {
            let _ = client.read(&mut [0; 1024]);
            let body = "rps 41.5\n";
            let _ = write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    let slo = Slo::start(&format!("rate:{url} rps").parse().unwrap()).unwrap();
    while slo.reading(Nanos::ZERO).count == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(slo.reading(Nanos::ZERO).sum, 41_500_000);
    assert_eq!(slo.trial().measure, Measure::Level);
}
