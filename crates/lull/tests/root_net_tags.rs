//! Traffic of programs that lull did not start: what was named by port, address or mark is background, answers are in the class
//! of the question, and all of it ends with lull.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command};

use common::classes::{datagrams, receive, set_lower_effort, set_mark};
use common::net::{bed, connections};
use common::{assert_nothing_left, finish, helper, lull_run, new_marker, send, spawn_marked, wait_until};
use lull_bench::netbed::{self, Host};
use serde_json::Value;

const NAMED_PORT: u16 = 6881;
const OTHER_PORT: u16 = 6900;
const MARK: i32 = 0x10;

/// A run whose job does nothing, on one host.
struct Watch {
    child: Option<Child>,
    marker: String,
    summary: tempfile::NamedTempFile,
}

impl Watch {
    fn start(host: &Host, options: &[&str]) -> Self {
        let summary = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = summary.path().to_str().unwrap();
        let options = [&["--resources", "net", "--json", "--summary", path], options].concat();
        let mut command: Command = lull_run(&options, &["sleep", "1000"]);
        host.namespace().confine(&mut command);
        let marker = new_marker();
        let child = spawn_marked(&mut command, &marker);
        Self { child: Some(child), marker, summary }
    }

    fn front(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Ends it; what it has to say of its interface.
    fn end(mut self) -> Value {
        let front = self.front();
        // Before the front has a handler the signal would end it without a summary.
        common::job_of(front);
        assert!(send(front, libc::SIGTERM));
        let output = finish(self.child.take().unwrap());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_nothing_left(front, &self.marker);
        let summary: Value = serde_json::from_reader(self.summary.as_file()).unwrap();
        let interface = &summary["net"]["interfaces"][0];
        assert_eq!(interface["interface"], netbed::DEVICE, "{summary}");
        assert_eq!(summary["notes"].as_array().map_or(0, Vec::len), 0, "{summary}");
        interface.clone()
    }
}

/// A test that failed leaves nothing running: it would treat the sockets of other tests.
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(child) = &self.child {
            send(child.id(), libc::SIGTERM);
        }
    }
}

/// Sends a datagram; whether it came as Lower Effort. The first ones may be lost while a room is made.
fn comes_marked(from: &UdpSocket, to: &UdpSocket) -> bool {
    let mut class = None;
    wait_until("a datagram to come", || {
        from.send_to(b"datagram", to.local_addr().unwrap()).unwrap();
        let own = from.local_addr().unwrap();
        class = receive(to).and_then(|(lower, sender)| (sender == own).then_some(lower));
        class.is_some()
    });
    class.unwrap()
}

#[test]
fn root_named_datagrams_of_other_programs_are_background() {
    let Some(bed) = bed() else { return };
    let alias: IpAddr = "10.77.0.77".parse().unwrap();
    let words = ["addr", "add", "10.77.0.77/24", "dev", netbed::DEVICE];
    assert!(bed.left.command("ip").args(words).status().unwrap().success());
    let sink = |host: &Host, address| datagrams(host, address, 0);
    let (to_v4, to_v6) = (sink(&bed.right, bed.right.v4()), sink(&bed.right, bed.right.v6()));
    let named = datagrams(&bed.right, bed.right.v4(), NAMED_PORT);
    let marked = sink(&bed.left, bed.left.v4());
    set_mark(&marked, MARK);
    let cases = [
        (datagrams(&bed.left, bed.left.v4(), NAMED_PORT), &to_v4),
        (datagrams(&bed.left, bed.left.v6(), NAMED_PORT), &to_v6),
        (sink(&bed.left, bed.left.v4()), &named),
        (sink(&bed.left, alias), &to_v4),
        (marked, &to_v4),
    ];
    let plain =
        [(datagrams(&bed.left, bed.left.v4(), OTHER_PORT), &to_v4), (sink(&bed.left, bed.left.v6()), &to_v6)];
    let options = ["--net-ports", "6881-6889,873", "--net-address", "10.77.0.77", "--net-mark", "0x10/0xff"];
    let watch = Watch::start(&bed.left, &options);
    wait_until("the programs to stand", || comes_marked(&cases[0].0, cases[0].1));
    for (number, (from, to)) in cases.iter().enumerate() {
        for _ in 0..10 {
            assert!(comes_marked(from, to), "case {number}");
        }
    }
    for (from, to) in &plain {
        assert!(!comes_marked(from, to));
    }
    let interface = watch.end();
    assert!(interface["others"].as_u64().unwrap() >= 25, "{interface}");
    assert!(interface["background_packets"].as_u64().unwrap() >= 25, "{interface}");
    assert!(interface["foreground_packets"].as_u64().unwrap() >= 1, "{interface}");
    wait_until("the programs to go", || !comes_marked(&cases[0].0, cases[0].1));
}

#[test]
fn root_an_address_that_the_host_does_not_have_is_told() {
    let Some(bed) = bed() else { return };
    let own = bed.left.v4().to_string();
    let mut command = lull_run(&["--json", "--net-address", &format!("192.0.2.1,{own}")], &["true"]);
    bed.left.namespace().confine(&mut command);
    let output = common::output(&mut command);
    let summary: Value = serde_json::from_slice(&output.stderr).unwrap();
    let notes = summary["notes"].to_string();
    assert!(notes.contains("--net-address: 192.0.2.1 is no address") && !notes.contains(&own), "{notes}");
}

fn listen(host: &Host, port: u16) -> TcpListener {
    let any = SocketAddr::new(host.v4(), port);
    host.namespace().inside(|| TcpListener::bind(any)).unwrap().unwrap()
}

/// A connection from a host, with both ends.
fn connect(from: &Host, to: &TcpListener) -> (TcpStream, TcpStream) {
    let address = to.local_addr().unwrap();
    let stream = from.namespace().inside(|| TcpStream::connect(address)).unwrap().unwrap();
    (stream, to.accept().unwrap().0)
}

#[test]
fn root_named_connections_of_other_programs_yield_as_the_jobs_do() {
    let Some(bed) = bed() else { return };
    let (named, other) = (listen(&bed.right, NAMED_PORT), listen(&bed.right, OTHER_PORT));
    let watch = Watch::start(&bed.left, &["--net-ports", "6881", "--interval", "inf"]);
    let filter = format!("dport = :{NAMED_PORT}");
    let mut pair = connect(&bed.left, &named);
    wait_until("a connection with the congestion control", || {
        let is_there = connections(&bed.left, &filter).contains("lull_");
        if !is_there {
            pair = connect(&bed.left, &named);
        }
        is_there
    });
    let (mut stream, mut received) = pair;
    let reader = std::thread::spawn(move || {
        let mut space = vec![0; 1 << 16];
        while received.read(&mut space).is_ok_and(|len| len > 0) {}
    });
    stream.set_nonblocking(true).unwrap();
    // One packet of the foreground is enough for an endless interval, once the interface is watched.
    let mut plain = connect(&bed.left, &other);
    wait_until("the connection to be held", || {
        plain = connect(&bed.left, &other);
        let _ = stream.write(&[7; 1 << 16]);
        connections(&bed.left, &filter).contains("cwnd:2 ")
    });
    assert!(!connections(&bed.left, &format!("dport = :{OTHER_PORT}")).contains("lull_"));
    // The other host is in a network namespace that this lull does not watch.
    assert!(!connections(&bed.right, &format!("sport = :{NAMED_PORT}")).contains("lull_"));
    let interface = watch.end();
    assert!(interface["others"].as_u64().unwrap() > 0, "{interface}");
    // Open again, it sends at the link's rate.
    stream.set_nonblocking(false).unwrap();
    stream.write_all(&vec![7; 8 << 20]).unwrap();
    drop(stream);
    reader.join().unwrap();
}

#[test]
fn root_named_datagrams_wait_and_pass_when_the_supervisor_is_killed() {
    let Some(bed) = bed() else { return };
    let sink = datagrams(&bed.right, bed.right.v4(), 0);
    let from = datagrams(&bed.left, bed.left.v4(), NAMED_PORT);
    let plain = datagrams(&bed.left, bed.left.v4(), OTHER_PORT);
    let options = ["--net-ports", "6881", "--interval", "inf", "--longest-hold", "60min"];
    let mut watch = Watch::start(&bed.left, &options);
    from.set_nonblocking(true).unwrap();
    sink.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    let to = sink.local_addr().unwrap();
    wait_until("a datagram to wait", || {
        plain.send_to(b"foreground", to).unwrap();
        let _ = from.send_to(&[7; 1400], to);
        let output = bed.left.command("tc").args(["-s", "qdisc", "show"]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let room = shown.split("qdisc ").find(|one| one.starts_with("tbf") && one.contains("dev lull"));
        room.is_some_and(|room| room.contains("backlog ") && !room.contains("backlog 0b"))
    });
    let front = watch.front();
    assert!(send(helper(front, "lull-supervisor").unwrap(), libc::SIGKILL));
    wait_until("datagrams to pass unmarked", || {
        while receive(&sink).is_some() {}
        from.send_to(&[7; 14], to).is_ok() && receive(&sink) == Some((false, from.local_addr().unwrap()))
    });
    assert!(send(front, libc::SIGTERM));
    finish(watch.child.take().unwrap());
    assert_nothing_left(front, &watch.marker);
}

/// Asks a server that answers each datagram; whether the answer was Lower Effort.
fn is_answered_lower(client: &UdpSocket, server: &UdpSocket, lower: bool) -> bool {
    let address = server.local_addr().unwrap();
    set_lower_effort(client, address.is_ipv6(), lower);
    client.send_to(b"question", address).unwrap();
    let (asked_lower, from) = receive(server).unwrap();
    assert_eq!(asked_lower, lower);
    server.send_to(b"answer", from).unwrap();
    receive(client).unwrap().0
}

#[test]
fn root_a_datagram_socket_answers_in_the_class_of_the_question() {
    let Some(bed) = bed() else { return };
    let pair = |of: fn(&Host) -> IpAddr| {
        (datagrams(&bed.left, of(&bed.left), 0), datagrams(&bed.right, of(&bed.right), 0))
    };
    let pairs = [pair(Host::v4), pair(Host::v6)];
    let watch = Watch::start(&bed.right, &["--net-answer"]);
    wait_until("the programs to stand", || is_answered_lower(&pairs[0].0, &pairs[0].1, true));
    for (client, server) in &pairs {
        for lower in [true, false, true, true, false, false, true] {
            assert_eq!(is_answered_lower(client, server, lower), lower);
        }
    }
    let interface = watch.end();
    assert!(interface["others"].as_u64().unwrap() >= 8, "{interface}");
    wait_until("the programs to go", || !is_answered_lower(&pairs[0].0, &pairs[0].1, true));
}

#[test]
fn root_an_asked_connection_yields_until_it_is_asked_otherwise() {
    let Some(bed) = bed() else { return };
    let listener = listen(&bed.right, 0);
    let filter = format!("sport = :{}", listener.local_addr().unwrap().port());
    let watch = Watch::start(&bed.right, &["--net-answer"]);
    let mut pair = connect(&bed.left, &listener);
    let mut exchanges = 0;
    let mut exchange = |lower: bool, until: &dyn Fn(&str) -> bool| {
        wait_until("the congestion control to follow", || {
            let (client, server) = &mut pair;
            set_lower_effort(client, false, lower);
            client.write_all(&[7; 100]).unwrap();
            server.read_exact(&mut [0; 100]).unwrap();
            server.write_all(&[7; 3_000]).unwrap();
            client.read_exact(&mut [0; 3_000]).unwrap();
            let is_so = until(&connections(&bed.right, &filter));
            exchanges += 1;
            // A connection from before the programs stood never follows.
            if !is_so && lower && exchanges % 10 == 0 {
                pair = connect(&bed.left, &listener);
            }
            is_so
        });
    };
    exchange(true, &|shown| shown.contains(" lull_"));
    exchange(false, &|shown| !shown.contains(" lull_"));
    watch.end();
}
