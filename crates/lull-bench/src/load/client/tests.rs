use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use super::*;

/// A server that answers every GET with three bytes, or, if it is silent, none.
fn serve(listener: &TcpListener, silent: bool) {
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || {
            let mut writer = stream.try_clone().unwrap();
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if line.is_empty() && !silent {
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
        items: 3,
        seed: 1,
    }
}

#[test]
fn every_request_of_the_schedule_is_asked_and_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener, false));
    let report = run(&args(address)).unwrap();
    // At 100/s, arrivals at 10 ms, 20 ms, … before 500 ms: whatever the machine does, none is left out.
    assert_eq!((report.requests, report.unfinished), (49, 0));
    assert_eq!(report.bytes, 49 * ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".len() as u64));
    assert_eq!(report.distribution.last().map(|(_, count)| *count), Some(49));
}

#[test]
fn requests_that_a_silent_server_never_answers_are_counted_from_their_arrival() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(&listener, true));
    let report = run(&args(address)).unwrap();
    assert_eq!((report.requests, report.unfinished), (49, 49), "also those that never found a connection");
    assert!(report.latency.unwrap().p50_ns >= DRAIN.as_nanos());
}
