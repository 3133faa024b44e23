//! `lull reserve exec --net` on a link of the test's own: shares hold, what is idle is borrowed, what a socket cannot take is dropped early, and
//! the interface is as it was afterwards.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{finish, lull, output, send, wait_until};
use lull_bench::netbed;

/// One tree at a time.
static ALONE: Mutex<()> = Mutex::new(());
/// The link that is shared; the bed's own has a queue of its own.
const DEVICE: &str = "net1";
/// 100 Mb/s.
const RATE_BYTES: u64 = 12_500_000;

/// Two hosts, and an interface with two reservations on the left one.
struct Bed {
    dir: tempfile::TempDir,
    hosts: netbed::Bed,
    _alone: std::sync::MutexGuard<'static, ()>,
}

/// A sender, ended with the test.
struct Sender(Option<Child>);

impl Drop for Sender {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            send(child.id(), libc::SIGKILL);
            drop(finish(child));
        }
    }
}

fn bed(first: &str, second: &str) -> Option<Bed> {
    let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let hosts = common::net::bed()?;
    let ip = |host: &netbed::Host, words: &str| {
        assert!(host.command("ip").args(words.split(' ')).status().unwrap().success(), "{words}");
    };
    let peer = hosts.right.namespace().path();
    ip(&hosts.left, &format!("link add {DEVICE} type veth peer name {DEVICE} netns {peer}"));
    for (host, address) in [(&hosts.left, "10.78.0.1/24"), (&hosts.right, "10.78.0.2/24")] {
        ip(host, &format!("addr add {address} dev {DEVICE}"));
        ip(host, &format!("link set {DEVICE} up"));
    }
    let bed = Bed { dir: tempfile::tempdir().unwrap(), hosts, _alone: alone };
    let done = output(&mut bed.reserve(&["mount", "--net", &format!("{DEVICE}:100mbit")]));
    if !done.status.success() {
        eprintln!("SKIPPED: interfaces cannot be reserved here: {}", String::from_utf8_lossy(&done.stderr));
        return None;
    }
    for (name, share) in [("r0", first), ("r1", second)] {
        fs::create_dir(bed.reservation(name)).unwrap();
        fs::write(bed.reservation(name).join("share"), share).unwrap();
    }
    Some(bed)
}

impl Bed {
    fn point(&self) -> PathBuf {
        self.dir.path().join("reserv")
    }

    fn reservation(&self, name: &str) -> PathBuf {
        self.point().join(DEVICE).join(name)
    }

    /// `lull reserve`, on the left host; the mount comes last.
    fn reserve(&self, words: &[&str]) -> Command {
        let mut command = lull();
        command.arg("reserve").args(words).arg(self.point());
        self.hosts.left.namespace().confine(&mut command);
        command
    }

    /// Sends to the right host without end.
    fn sender(&self, name: &str) -> Sender {
        let any = "10.78.0.2:0";
        let listener = self.hosts.right.namespace().inside(|| TcpListener::bind(any)).unwrap().unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut space = vec![0; 1 << 16];
            while stream.read(&mut space).is_ok_and(|len| len > 0) {}
        });
        let script = format!("exec cat /dev/zero > /dev/tcp/10.78.0.2/{port}");
        let mut command = lull();
        command.args(["reserve", "exec", "--net"]).arg(self.reservation(name));
        command.args(["--", "bash", "-c", &script]).stdin(Stdio::null());
        self.hosts.left.namespace().confine(&mut command);
        Sender(Some(command.spawn().unwrap()))
    }

    /// The process that serves the mount.
    fn server(&self) -> u32 {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = table.lines().find(|line| line.contains(self.point().to_str().unwrap())).unwrap();
        let source = line.split_whitespace().find_map(|word| word.strip_prefix("lull-reserve:")).unwrap();
        source.split(':').next().unwrap().parse().unwrap()
    }

    /// Bytes that the default queue has sent.
    fn sent(&self, name: &str) -> u64 {
        let text = fs::read_to_string(self.reservation(name).join("q0/backlog")).unwrap_or_default();
        text.split_whitespace().nth(1).map_or(0, |word| word.parse().unwrap())
    }

    fn queue(&self) -> String {
        let words = ["qdisc", "show", "dev", DEVICE, "root"];
        let shown = output(self.hosts.left.command("tc").args(words));
        String::from_utf8(shown.stdout).unwrap()
    }

    /// What the interface takes at once, and whether threads handle what comes.
    fn knobs(&self) -> (String, String) {
        // In a mount namespace of its own: sysfs shows the network namespace in which it was mounted.
        let script = format!(
            "mount -t sysfs none /sys && cat /sys/class/net/{DEVICE}/threaded && ip -d link show dev {DEVICE}"
        );
        let shown = output(self.hosts.left.command("unshare").args(["--mount", "sh", "-c", &script]));
        let shown = String::from_utf8(shown.stdout).unwrap();
        let largest = shown.split("gso_max_size ").nth(1).unwrap().split_whitespace().next().unwrap();
        (largest.to_owned(), shown.lines().next().unwrap().to_owned())
    }

    /// Packets that were let through to a queue, and those that were refused.
    fn input(&self, name: &str) -> (u64, u64) {
        let text = fs::read_to_string(self.point().join("status")).unwrap();
        let status: serde_json::Value = serde_json::from_str(&text).unwrap();
        let of = |value: &serde_json::Value, key: &str, name: &str| {
            value[key]
                .as_array()
                .unwrap()
                .iter()
                .find(|one| one["name"] == name || one["path"] == name)
                .cloned()
        };
        let resource = of(&status, "resources", DEVICE).unwrap();
        let Some(queue) = of(&resource, "reservations", &format!("{name}/q0")) else { return (0, 0) };
        (queue["input"]["packets"].as_u64().unwrap(), queue["input"]["refused"].as_u64().unwrap())
    }

    /// A server in a reservation that listens, and does nothing more.
    fn stopped_server(&self, name: &str, words: &str) -> Sender {
        let mut command = lull();
        let program = command.get_program().to_owned();
        command.args(["reserve", "exec", "--net"]).arg(self.reservation(name)).arg("--").arg(program);
        command.arg("load").args(words.split(' ')).stdout(Stdio::null());
        self.hosts.left.namespace().confine(&mut command);
        let server = Sender(Some(command.spawn().unwrap()));
        let (proto, port) =
            (if words.starts_with("site") { "tcp" } else { "udp" }, words.split(':').nth(1).unwrap());
        let port = format!(":{:04X} ", port.split(' ').next().unwrap().parse::<u16>().unwrap());
        wait_until("it listens", || {
            let shown = output(self.hosts.left.command("cat").arg(format!("/proc/net/{proto}")));
            String::from_utf8_lossy(&shown.stdout).contains(&port)
        });
        assert!(send(server.0.as_ref().unwrap().id(), libc::SIGSTOP));
        server
    }

    fn bound_input(&self, name: &str, text: &str) {
        fs::write(self.reservation(name).join("q0/input"), text).unwrap();
    }

    /// How many times what the second sends the first does, both busy.
    fn ratio(&self) -> f64 {
        wait_until("both send", || self.sent("r0") > 1 << 20 && self.sent("r1") > 1 << 18);
        let before = [self.sent("r0"), self.sent("r1")];
        wait_until("both had their part", || self.sent("r1") - before[1] >= 4 << 20);
        (self.sent("r0") - before[0]) as f64 / (self.sent("r1") - before[1]) as f64
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // It may be gone already.
        drop(output(&mut self.reserve(&["unmount", "--lazy"])));
    }
}

#[test]
fn root_equal_shares_are_equal_and_unmounting_brings_the_queue_back() {
    let Some(bed) = bed("50% 50", "50% 50") else { return };
    assert!(bed.queue().contains("htb 1078:"), "{}", bed.queue());
    assert_eq!(bed.knobs().0, "12500", "a millisecond of 100 Mb/s");
    let senders = [bed.sender("r0"), bed.sender("r1")];
    let ratio = bed.ratio();
    assert!((0.7..1.4).contains(&ratio), "one to one was reserved: {ratio}");
    drop(senders);
    let done = output(&mut bed.reserve(&["unmount"]));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(bed.queue().contains("noqueue"), "{}", bed.queue());
    assert_eq!(bed.knobs(), ("65536".to_owned(), "0".to_owned()));
}

#[test]
fn root_who_is_idle_lends_its_share() {
    let Some(bed) = bed("80% 80", "20% 20") else { return };
    let first = bed.sender("r0");
    let _second = bed.sender("r1");
    let ratio = bed.ratio();
    assert!((2.5..6.0).contains(&ratio), "four to one was reserved: {ratio}");
    drop(first);
    let (begun, before) = (Instant::now(), bed.sent("r1"));
    wait_until("the second has sent more", || bed.sent("r1") - before >= 16 << 20);
    let rate = (bed.sent("r1") - before) as f64 / begun.elapsed().as_secs_f64();
    let share = RATE_BYTES as f64 / 5.0;
    assert!(rate > share * 1.5, "alone it has more than its share of {share}: {rate} bytes/s");
}

#[test]
fn root_what_a_killed_mount_leaves_is_removed() {
    let Some(bed) = bed("50% 50", "50% 50") else { return };
    let sender = bed.sender("r0");
    wait_until("it sends", || bed.sent("r0") > 1 << 20);
    assert!(send(bed.server(), libc::SIGKILL));
    wait_until("the mount is dead", || fs::metadata(bed.point()).is_err());
    let alive = common::state_of(sender.0.as_ref().unwrap().id()).is_some_and(|(state, _)| state != 'Z');
    assert!(alive, "the sender goes on");
    let done = output(&mut bed.reserve(&["unmount"]));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(bed.queue().contains("noqueue"), "{}", bed.queue());
    assert_eq!(bed.knobs(), ("65536".to_owned(), "0".to_owned()));
}

#[test]
fn root_what_a_socket_cannot_take_is_dropped_and_harms_no_other() {
    let Some(bed) = bed("50% 50", "50% 50") else { return };
    let _full = bed.stopped_server("r0", "packets-serve --address 10.78.0.1:7000");
    let _other = bed.stopped_server("r1", "packets-serve --address 10.78.0.1:7001");
    bed.bound_input("r0", "5 max");
    let socket = bed.hosts.right.namespace().inside(|| UdpSocket::bind("10.78.0.2:0")).unwrap().unwrap();
    for _ in 0..50 {
        socket.send_to(b"0123456789", "10.78.0.1:7000").unwrap();
    }
    for _ in 0..50 {
        socket.send_to(b"0123456789", "10.78.0.1:7001").unwrap();
    }
    wait_until("all have come", || {
        let (full, other) = (bed.input("r0"), bed.input("r1"));
        full.0 + full.1 == 50 && other.0 + other.1 == 50
    });
    assert_eq!((bed.input("r0"), bed.input("r1")), ((5, 45), (50, 0)));
    let text = fs::read_to_string(bed.reservation("r0").join("q0/input")).unwrap();
    assert_eq!(text.split_whitespace().next(), Some("5"), "{text}");
    // Without a bound the socket's own buffer is one, and the counts begin anew.
    bed.bound_input("r0", "max max");
    for _ in 0..2_000 {
        socket.send_to(b"0123456789", "10.78.0.1:7000").unwrap();
    }
    wait_until("all have come", || bed.input("r0").0 + bed.input("r0").1 == 2_000);
    let late = output(bed.hosts.left.command("cat").arg("/proc/net/udp"));
    let late = String::from_utf8(late.stdout).unwrap();
    let drops: Vec<&str> = late.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert!(bed.input("r0").1 > 1_000, "{:?}", bed.input("r0"));
    assert!(drops.iter().all(|drops| *drops == "0"), "none was dropped behind IP: {late}");
}

#[test]
fn root_a_connection_that_finds_the_listener_full_is_dropped() {
    let Some(bed) = bed("50% 50", "50% 50") else { return };
    let _listener = bed.stopped_server("r0", "site-serve --address 10.78.0.1:7002");
    bed.bound_input("r0", "1 max");
    let connect = || {
        let to = "10.78.0.1:7002".parse().unwrap();
        bed.hosts
            .right
            .namespace()
            .inside(|| TcpStream::connect_timeout(&to, Duration::from_millis(300)))
            .unwrap()
    };
    let first = connect();
    assert!(first.is_ok(), "there is room for one: {first:?}");
    assert!(connect().is_err(), "there is none for two");
    assert!(bed.input("r0").1 > 0);
}

#[test]
fn root_what_comes_is_handled_in_threads_where_the_driver_polls() {
    let Some(bed) = bed("50% 50", "50% 50") else { return };
    let polls = || bed.hosts.left.command("ethtool").args(["-K", DEVICE, "gro", "on"]).status();
    if !polls().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: ethtool is not there to have this driver poll");
        return;
    }
    assert_eq!(bed.knobs().1, "0", "it did not poll when it was mounted");
    let net = format!("{DEVICE}:100mbit");
    assert!(output(&mut bed.reserve(&["unmount", "--lazy"])).status.success());
    for ends in [libc::SIGTERM, libc::SIGKILL] {
        assert!(output(&mut bed.reserve(&["mount", "--net", &net])).status.success());
        assert_eq!(bed.knobs().1, "1");
        let text = fs::read_to_string(bed.point().join("status")).unwrap();
        assert!(text.contains("handled in threads"), "{text}");
        assert!(send(bed.server(), ends));
        wait_until("the mount is dead", || fs::metadata(bed.point().join("status")).is_err());
        let left = if ends == libc::SIGKILL { "1" } else { "0" };
        wait_until("it is put back, but for one that was killed", || bed.knobs().1 == left);
    }
    assert!(output(&mut bed.reserve(&["unmount"])).status.success());
    assert_eq!(bed.knobs(), ("65536".to_owned(), "0".to_owned()));
}

#[test]
fn root_an_interface_that_cannot_be_shared_is_refused() {
    let Some(bed) = bed("0% 1", "0% 1") else { return };
    let other = bed.dir.path().join("other");
    let refused = |net: &str| {
        let mut command = lull();
        command.args(["reserve", "mount", "--net", net]).arg(&other);
        bed.hosts.left.namespace().confine(&mut command);
        let done = output(&mut command);
        assert!(!done.status.success(), "{net}");
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(refused("nosuch:1mbit").contains("no interface 'nosuch'"));
    assert!(refused(DEVICE).contains("give what may leave it"));
    assert!(refused(&format!("{DEVICE}:1mbit")).contains("another mount"));
    assert!(refused(&format!("{}:1mbit", netbed::DEVICE)).contains("is arranged already"));
    assert!(bed.queue().contains("htb 1078:"), "the first has its own still: {}", bed.queue());
}
