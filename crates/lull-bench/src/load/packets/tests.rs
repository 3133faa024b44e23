//! A sender and a server in this process.

use super::*;

fn shift(seconds: f64) -> ShiftArgs {
    ShiftArgs { warmup: Nanos::ZERO, seconds: Some(seconds), json: false }
}

#[test]
fn a_server_reads_what_is_sent_in_pieces_of_the_papers_size() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = socket.local_addr().unwrap();
    let serve_args = ServeArgs { shift: shift(0.2), address, work: 1 };
    let server = std::thread::spawn(move || {
        let mut data = [0; 64];
        assert_eq!(socket.recv(&mut data).unwrap(), usize::from(PACKET_BYTES));
        read_all(&socket, &serve_args).unwrap()
    });
    let sent = send(&SendArgs { shift: shift(1.0), to: vec![address], rate: 10_000 }).unwrap();
    let read = server.join().unwrap();
    assert!(sent.requests > 0 && sent.bytes == sent.requests * u64::from(PACKET_BYTES));
    assert!(read.requests > 0 && read.requests <= sent.requests, "{} of {}", read.requests, sent.requests);
}

#[test]
fn the_faster_the_more_at_once() {
    assert_eq!([0, 1_000, 20_000, 10_000_000].map(at_once), [1, 1, 10, MOST_AT_ONCE]);
}
