use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use super::*;

/// A server that answers every GET with three bytes, from that time on; none: never.
fn serve(listener: &TcpListener, from: Option<Nanos>) {
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || {
            let mut writer = stream.try_clone().unwrap();
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if line.is_empty()
                    && let Some(from) = from
                {
                    clock::sleep_until(from);
                    writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").unwrap();
                }
            }
        });
    }
}

fn args(address: SocketAddr) -> ClientArgs {
    ClientArgs {
        shift: ShiftArgs { warmup: Nanos::ZERO, seconds: Some(0.5), json: true },
        protocol: Protocol::Http,
        address,
        rate: 100,
        connections: 2,
        spread: Spread::Fixed,
        waves: None,
        items: 3,
        seed: 1,
    }
}

#[test]
fn every_request_of_the_schedule_is_asked_and_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener, Some(Nanos::ZERO)));
    let report = run(&args(address)).unwrap();
    // At 100/s, arrivals at 10 ms, 20 ms, … before 500 ms: whatever the machine does, none is left out.
    assert_eq!((report.requests, report.unfinished), (49, 0));
    assert_eq!(report.bytes, 49 * ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".len() as u64));
    assert_eq!(report.distribution.last().map(|(_, count)| *count), Some(49));
    assert!(report.in_time.is_some_and(|in_time| (1..=49).contains(&in_time)), "{:?}", report.in_time);
}

#[test]
fn what_is_answered_after_the_window_has_a_latency_and_is_no_throughput() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It answers nothing before the window of half a second, and the start before it, are over; then
    // everything.
    let late = clock::now().plus(Nanos::from_secs(3));
    std::thread::spawn(move || serve(&listener, Some(late)));
    let mut args = args(address);
    args.rate = 10;
    let report = run(&args).unwrap();
    assert_eq!((report.requests, report.unfinished), (4, 0), "at 100, 200, 300 and 400 ms");
    assert_eq!((report.in_time, report.distribution.last().map(|(_, count)| *count)), (Some(0), Some(4)));
}

#[test]
fn requests_that_a_silent_server_never_answers_are_counted_from_their_arrival() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener, None));
    let report = run(&args(address)).unwrap();
    assert_eq!((report.requests, report.unfinished), (49, 49), "also those that never found a connection");
    assert_eq!((report.in_time, report.requests_per_s()), (Some(0), Some(0.0)));
    assert!(report.latency.unwrap().p50_ns >= DRAIN.as_nanos());
}

#[test]
fn a_wave_asks_and_rests_in_turn() {
    let half = Nanos::from_secs(2);
    let asks = |begun| {
        (9..17).map(|at| is_wave(Nanos::from_secs(at), Nanos::from_secs(begun), half)).collect::<Vec<_>>()
    };
    assert_eq!(asks(9), [true, true, false, false, true, true, false, false]);
    assert_eq!(asks(13), asks(9), "before the counting as after it");
    assert_eq!(asks(12), [true, false, false, true, true, false, false, true]);
}
