use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;

fn start(choice: &SloChoice) -> (Slo, Complaints) {
    let complaints = Complaints::default();
    (Slo::start(choice, &complaints, || ()).unwrap(), complaints)
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
    assert_eq!(metric_in(text, "latency"), Some("0.25"));
    assert_eq!(metric_in(text, "latency{q=\"0.5\"}"), Some("0.25"));
    assert_eq!(metric_in(text, "lat"), None);
    assert_eq!(metric_in(text, "missing"), None);
}

#[test]
fn a_command_s_lines_are_summed_and_it_ends_with_its_owner() {
    let choice = "echo $$; echo none; echo 2.5; exec sleep 1000".parse().unwrap();
    let slo = start(&choice).0;
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
    assert!(!Path::new(&format!("/proc/{shell}")).exists());
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
    let slo = start(&format!("rate:{url} rps").parse().unwrap()).0;
    // Asked again each second, so the next reading may have one more.
    let reading = loop {
        let reading = slo.reading(Nanos::ZERO);
        if reading.count > 0 {
            break reading;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(reading.sum, reading.count * 41_500_000);
    assert_eq!(slo.trial().measure, Measure::Level);
}

/// What is complained of first.
fn first_complaint(choice: &str) -> String {
    let (_slo, complaints) = start(&choice.parse().unwrap());
    loop {
        if let Some(first) = complaints.take().into_iter().next() {
            return first;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_command_that_ends_is_told_with_its_end() {
    let told = first_complaint("echo 3; echo 4; exit 9");
    for word in ["--slo: 'echo 3;", "status 9", "after 2 values", "nothing is promised"] {
        assert!(told.contains(word), "no {word} in {told}");
    }
    assert!(first_complaint("kill -9 $$").contains("was ended by SIGKILL after 0 values"));
    assert!(first_complaint("exec >&-; exec sleep 1000").contains("closed its output"));
}

/// What a watch without patience complains of, given this and then nothing.
fn complaints_about(given: Vec<Given>) -> Vec<String> {
    let (sums, complaints) = (Arc::default(), Complaints::default());
    let (sender, receiver) = channel();
    let (nudged, nudges) = channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let watch = Watch {
        source: "./p99.sh".into(),
        sums: Arc::clone(&sums),
        is_over: Arc::clone(&is_over),
        command: None,
        complaints: complaints.clone(),
    };
    given.into_iter().for_each(|given| sender.send(given).unwrap());
    let thread =
        std::thread::spawn(move || watch.run(&receiver, Nanos::from_millis(20), || nudged.send(()).unwrap()));
    nudges.recv().unwrap();
    assert!(sums.is_silent());
    let told = complaints.take();
    // Silent for much longer than it takes to be told, and told once.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(complaints.take(), Vec::<String>::new());
    is_over.store(true, Ordering::SeqCst);
    drop(sender);
    thread.join().unwrap();
    assert_eq!(complaints.take(), Vec::<String>::new(), "an end that was wanted is none to tell");
    told
}

#[test]
fn a_silent_measure_is_told_once_with_what_it_said() {
    let told = complaints_about(Vec::new());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("no value for 20ms: './p99.sh' says nothing; without values"), "{told:?}");
    let told = complaints_about(vec![Given::Useless("prints 'n/a'".into())]);
    assert!(told[0].contains("'./p99.sh' prints 'n/a'"), "{told:?}");
    assert!(complaints_about(vec![Given::Value(1.0)])[0].contains("says nothing"));
}

#[test]
fn a_page_that_cannot_be_read_says_why() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (sender, given) = channel();
    std::thread::spawn(move || ask(&format!("http://{free}/metrics"), "rps", &sender));
    assert!(matches!(given.recv().unwrap(), Given::Useless(why) if why.starts_with("cannot be read: ")));
    assert!(matches!(Given::of(Some(f64::NAN), String::new), Given::Useless(_)));
    assert!(matches!(Given::of(Some(-1.0), String::new), Given::Useless(_)));
}

#[test]
fn what_is_quoted_fits_into_a_line() {
    assert_eq!(quoted("a\nb"), "a b");
    let long = quoted(&"x".repeat(200));
    assert_eq!(long.chars().count(), QUOTED_CHARS + 1);
}
