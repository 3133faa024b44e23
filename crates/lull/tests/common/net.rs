//! A test network of two hosts.

use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Command};

use lull_bench::netbed::{self, Bed, LinkPlan};
use serde_json::Value;

use super::{AWAKE, lull_run, spawn_marked, wait_until};

/// Megabits per second of its link.
pub(crate) const RATE_MBIT: u32 = 100;

/// Whether a test network can be had here; if not, that is said.
pub(crate) fn has_bed() -> bool {
    if !super::needs_root() {
        return false;
    }
    let why = netbed::obstacle();
    if let Some(why) = &why {
        eprintln!("SKIPPED: {why}");
    }
    why.is_none()
}

/// A new network; none where none can be had.
pub(crate) fn bed() -> Option<Bed> {
    has_bed().then(|| Bed::build(&LinkPlan::of_rate(RATE_MBIT)).unwrap())
}

/// A command as `lull_run` makes it, on the left host.
pub(crate) fn on_left(bed: &Bed, options: &[&str], script: &str) -> Command {
    let mut command = lull_run(options, &["bash", "-c", &format!("{AWAKE}{script}")]);
    bed.left.namespace().confine(&mut command);
    command
}

/// Receives on the right host; the port, and how many bytes came in one connection.
pub(crate) fn receiver(bed: &Bed, address: IpAddr) -> (u16, std::thread::JoinHandle<usize>) {
    let listener =
        bed.right.namespace().inside(|| TcpListener::bind(SocketAddr::new(address, 0))).unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut total, mut space) = (0, vec![0; 1 << 16]);
        loop {
            match stream.read(&mut space) {
                Ok(0) | Err(_) => return total,
                Ok(len) => total += len,
            }
        }
    });
    (port, received)
}

/// A socket of this host.
pub(crate) fn socket(host: &netbed::Host) -> UdpSocket {
    host.namespace().inside(|| UdpSocket::bind(SocketAddr::new(host.v4(), 0))).unwrap().unwrap()
}

/// One packet of the foreground.
pub(crate) fn disturb(bed: &Bed) {
    let to = socket(&bed.right).local_addr().unwrap();
    socket(&bed.left).send_to(b"foreground", to).unwrap();
}

/// The summary that was written there.
pub(crate) fn summary_at(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Whether the congestion control of this supervisor is there. Those of other runs are, too: the list is the machine's.
pub(crate) fn has_own_congestion_control(supervisor: u32) -> bool {
    let own = format!("lull_{supervisor}");
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    available.split_whitespace().any(|name| name == own)
}

/// Starts an upload and waits until its connection is held.
pub(crate) fn held_upload(bed: &Bed, options: &[&str], port: u16, bytes: u32, marker: &str) -> Child {
    let to = format!("/dev/tcp/{}/{port}", bed.right.v4());
    let script = format!("head -c {bytes} /dev/zero > {to}; echo done");
    let child = spawn_marked(&mut on_left(bed, options, &script), marker);
    let mut shown = String::new();
    wait_until("the connection to be held", || {
        disturb(bed);
        let filter = format!("dport = :{port}");
        let output = bed.left.command("ss").args(["-Htin", &filter]).output().unwrap();
        shown = String::from_utf8(output.stdout).unwrap();
        shown.contains("lull_") && shown.contains("cwnd:2 ")
    });
    child
}

/// How many waiting rooms there are on the left host.
pub(crate) fn rooms(bed: &Bed) -> usize {
    let output = bed.left.command("ip").args(["-o", "link"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().matches(": lull").count()
}
