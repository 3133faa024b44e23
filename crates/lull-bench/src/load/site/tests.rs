//! One site and one client in this process.

use lull_core::Nanos;

use super::*;

#[test]
fn a_client_gets_what_the_site_computes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let site = thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            answer(stream.unwrap(), 10).unwrap();
        }
    });
    let first = fetch(address).unwrap();
    assert!(first.starts_with(b"HTTP/1.0 200 OK"), "{}", String::from_utf8_lossy(&first));
    assert_eq!(fetch(address).unwrap(), first, "the same work each time");
    site.join().unwrap();
    assert!(fetch(address).is_err(), "nobody listens any more");
}

#[test]
fn a_site_that_is_not_there_is_told() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let shift = ShiftArgs { warmup: Nanos::ZERO, seconds: Some(60.0), json: false };
    assert!(ask(&AskSiteArgs { shift, address: free, clients: 2 }).is_err());
}
