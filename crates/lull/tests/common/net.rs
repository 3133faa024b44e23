//! A test network of two hosts.

use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::JoinHandle;

use lull_bench::netbed::{self, Bed, LinkPlan};
use serde_json::Value;

use super::{AWAKE, helper, lull_run, spawn_marked, wait_until};

/// Megabits per second of its link.
pub(crate) const RATE_MBIT: u32 = 100;
/// On which nobody listens.
pub(crate) const DISCARD_PORT: u16 = 9;

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

/// A port of this address of the host, ready for connections.
pub(crate) fn listener(host: &netbed::Host, address: IpAddr) -> (SocketAddr, TcpListener) {
    let any = SocketAddr::new(address, 0);
    let listener = host.namespace().inside(|| TcpListener::bind(any)).unwrap().unwrap();
    (listener.local_addr().unwrap(), listener)
}

/// Receives on the right host; where, and how many bytes came in one connection.
pub(crate) fn receiver(bed: &Bed, address: IpAddr) -> (SocketAddr, JoinHandle<usize>) {
    let (to, listener) = listener(&bed.right, address);
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
    (to, received)
}

/// A socket of this host.
pub(crate) fn socket(host: &netbed::Host) -> UdpSocket {
    host.namespace().inside(|| UdpSocket::bind(SocketAddr::new(host.v4(), 0))).unwrap().unwrap()
}

/// One packet of the foreground.
pub(crate) fn disturb(bed: &Bed) {
    disturb_to(bed, bed.right.v4());
}

/// One packet of the foreground, to this address of the right host. Nobody takes it; while the link is down it is refused.
pub(crate) fn disturb_to(bed: &Bed, to: IpAddr) {
    let socket = bed.left.namespace().inside(|| UdpSocket::bind(any_of(to))).unwrap().unwrap();
    let _ = socket.send_to(b"foreground", SocketAddr::new(to, DISCARD_PORT));
}

/// What a script of [`on_left`] begins with so that the programs stand before it goes on: it makes a socket, and waits for [`let_go_on`].
pub(crate) fn first_a_socket(go: &Path) -> String {
    format!("exec 9> /dev/udp/127.0.0.1/{DISCARD_PORT}; until [ -e {} ]; do sleep 0.05; done; ", go.display())
}

/// Waits until the programs of this `lull run` stand, and lets its script go on.
pub(crate) fn let_go_on(front: u32, go: &Path) {
    wait_until("the programs to stand", || {
        helper(front, "lull-supervisor").is_some_and(has_own_congestion_control)
    });
    std::fs::write(go, "").unwrap();
}

/// A connection to there, as bash calls it.
pub(crate) fn for_bash(to: SocketAddr) -> String {
    format!("/dev/tcp/{}/{}", to.ip(), to.port())
}

/// Every address of the same protocol.
pub(crate) fn any_of(address: IpAddr) -> SocketAddr {
    if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().unwrap()
}

/// What `ss` says of the host's connections, one line each.
pub(crate) fn connections(host: &netbed::Host, filter: &str) -> String {
    let output = host.command("ss").args(["-Htin", filter]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The number behind `name` in what `ss` says of a connection.
pub(crate) fn number_of(shown: &str, name: &str) -> Option<u64> {
    shown.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok())
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
pub(crate) fn held_upload(bed: &Bed, options: &[&str], to: SocketAddr, bytes: u32, marker: &str) -> Child {
    let signs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let go = signs.path().join("go");
    let script = format!("{}head -c {bytes} /dev/zero > {}; echo done", first_a_socket(&go), for_bash(to));
    let child = spawn_marked(&mut on_left(bed, options, &script), marker);
    let_go_on(child.id(), &go);
    wait_until("the connection to be held", || {
        disturb(bed);
        let shown = connections(&bed.left, &format!("dport = :{}", to.port()));
        shown.contains("lull_") && number_of(&shown, "cwnd:") == Some(2)
    });
    child
}

/// How many waiting rooms there are on the left host.
pub(crate) fn rooms(bed: &Bed) -> usize {
    let output = bed.left.command("ip").args(["-o", "link"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().matches(": lull").count()
}

/// Waits until the job's datagrams wait in a room, beside a foreground that sends to this address.
pub(crate) fn wait_for_a_room(bed: &Bed, to: IpAddr) {
    wait_until("datagrams in the room", || {
        disturb_to(bed, to);
        let shown = bed.left.command("cat").arg("/proc/self/net/dev").output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let room = shown.lines().find_map(|line| line.trim().strip_prefix("lull"));
        // Name, eight numbers of what came in, then bytes and packets that went out.
        let packets = room.and_then(|room| room.split_whitespace().nth(10)?.parse().ok());
        packets.is_some_and(|packets: u64| packets > 5)
    });
}
