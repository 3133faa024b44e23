//! Before the machine sleeps, held calls are let go: a thread that waits with one could not be frozen. The test has a bus of its own, on which it
//! is logind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::foreground::{Foreground, Rhythm};
use common::{
    assert_nothing_left, clean_text, finish, helper, in_own_mounts, job_of, lull_run, needs_root, new_marker,
    spawn_marked, wait_until,
};

/// A daemon that serves a bus; ends when dropped.
struct Bus(Child);

impl Bus {
    /// Serves `dir/system_bus_socket`; `None`, and aloud, where the program is missing.
    fn start(dir: &Path) -> Option<Self> {
        let config = dir.join("bus.conf");
        let text = format!(
            "<busconfig><type>system</type><listen>unix:path={}/system_bus_socket</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\"/><allow send_type=\"signal\"/>\
             <allow receive_sender=\"*\"/><allow own=\"*\"/></policy></busconfig>",
            dir.display()
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new("dbus-daemon");
        command.arg("--nofork").arg(format!("--config-file={}", config.display()));
        match command.stdin(Stdio::null()).spawn() {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                eprintln!("SKIPPED: no dbus-daemon: {error}");
                None
            }
        }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kinds of messages, and fields of their headers, as the specification numbers them.
const CALL: u8 = 1;
const SIGNAL: u8 = 4;
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// One who speaks on the bus.
struct Speaker {
    stream: BufReader<UnixStream>,
    serial: u32,
}

fn aligned(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn word(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap().to_le_bytes()
}

impl Speaker {
    fn on(socket: &Path) -> Self {
        wait_until("the bus", || UnixStream::connect(socket).is_ok());
        let mut stream = BufReader::new(UnixStream::connect(socket).unwrap());
        stream.get_mut().write_all(b"\0AUTH EXTERNAL 30\r\n").unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert!(line.starts_with("OK"), "{line}");
        stream.get_mut().write_all(b"BEGIN\r\n").unwrap();
        let mut speaker = Self { stream, serial: 0 };
        speaker.call_bus("Hello", "", &[]);
        speaker
    }

    fn call_bus(&mut self, member: &str, signature: &str, body: &[u8]) {
        let bus = "org.freedesktop.DBus";
        let fields = [
            (PATH, b'o', "/org/freedesktop/DBus"),
            (INTERFACE, b's', bus),
            (MEMBER, b's', member),
            (DESTINATION, b's', bus),
            (SIGNATURE, b'g', signature),
        ];
        self.say(CALL, &fields, body);
        let mut answer = [0; 1024];
        assert!(self.stream.read(&mut answer).unwrap() > 0);
    }

    fn take_name(&mut self, name: &str) {
        let flags = word(0);
        let text = [&word(name.len())[..], name.as_bytes(), &[0]].concat();
        let padding = vec![0; text.len().next_multiple_of(4) - text.len()];
        self.call_bus("RequestName", "su", &[text, padding, flags.to_vec()].concat());
    }

    fn prepare_for_sleep(&mut self, is_about_to: bool) {
        let fields = [
            (PATH, b'o', "/org/freedesktop/login1"),
            (INTERFACE, b's', "org.freedesktop.login1.Manager"),
            (MEMBER, b's', "PrepareForSleep"),
            (SIGNATURE, b'g', "b"),
        ];
        self.say(SIGNAL, &fields, &word(usize::from(is_about_to)));
    }

    fn say(&mut self, kind: u8, fields: &[(u8, u8, &str)], body: &[u8]) {
        self.serial += 1;
        let mut header = Vec::new();
        for (code, of, value) in fields {
            header = aligned(header);
            header.extend([*code, 1, *of, 0]);
            let length = word(value.len());
            header.extend(if *of == b'g' { &length[..1] } else { &length });
            header.extend(value.as_bytes());
            header.push(0);
        }
        let mut message = vec![b'l', kind, 0, 1];
        message.extend([word(body.len()), self.serial.to_le_bytes(), word(header.len())].concat());
        message.extend(header);
        let message = [aligned(message), body.to_vec()].concat();
        self.stream.get_mut().write_all(&message).unwrap();
    }
}

#[test]
fn root_held_calls_go_on_before_the_machine_sleeps_and_are_held_again_when_it_is_awake() {
    if !needs_root() {
        return;
    }
    // Not a temporary file system: its files have no disk.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(_bus) = Bus::start(dir.path()) else { return };
    let socket = dir.path().join("system_bus_socket");
    let mut logind = Speaker::on(&socket);
    logind.take_name("org.freedesktop.login1");
    let mut stranger = Speaker::on(&socket);
    let data = dir.path().join("data");
    std::fs::write(&data, vec![5; 1 << 20]).unwrap();
    std::fs::File::open(&data).unwrap().sync_all().unwrap();
    let Some(_foreground) = Foreground::start(dir.path(), Rhythm::Steady) else { return };
    let marker = new_marker();
    let (passed, stop) = (dir.path().join("passed"), dir.path().join("stop"));
    let script = format!(
        "until [ -e {} ]; do dd iflag=direct bs=128k count=1 status=none of=/dev/null if={}; echo >> {}; done",
        stop.display(),
        data.display(),
        passed.display()
    );
    let run = lull_run(&["--interval", "inf", "--resources", "disk"], &["bash", "-c", &script]);
    let mounts = format!("mkdir -p /run/dbus; mount --bind {} /run/dbus; exec \"$@\"", dir.path().display());
    let child = spawn_marked(&mut in_own_mounts(&run, &mounts), &marker);
    let front = child.id();
    // Before lull there are programs that mount.
    wait_until("lull", || helper(front, "lull-supervisor").is_some());
    let job = job_of(front);
    let has_passed = || std::fs::read_to_string(&passed).unwrap_or_default().len();
    wait_until_a_read_is_held(job);
    let before = has_passed();
    // Only logind is believed.
    stranger.prepare_for_sleep(true);
    wait_until_a_read_is_held(job);
    // A call or two that had gone before may end meanwhile; believed, it would have been all.
    assert!(has_passed() <= before + 2, "{} after {before}", has_passed());
    // A lull that has just begun may not listen yet.
    wait_until("reads", || {
        logind.prepare_for_sleep(true);
        has_passed() > before + 5
    });
    logind.prepare_for_sleep(false);
    wait_until_a_read_is_held(job);
    std::fs::write(&stop, "").unwrap();
    logind.prepare_for_sleep(true);
    clean_text(&finish(child));
    assert_nothing_left(front, &marker);
}

/// A child of the job's is seen waiting at the gate, again and again.
fn wait_until_a_read_is_held(job: u32) {
    let (mut last, mut in_a_row) = (String::new(), 0);
    wait_until("a read to be held", || {
        let children =
            std::fs::read_to_string(format!("/proc/{job}/task/{job}/children")).unwrap_or_default();
        let reader = children.trim().to_owned();
        let place = std::fs::read_to_string(format!("/proc/{reader}/wchan")).unwrap_or_default();
        in_a_row = if place.contains("seccomp") && reader == last { in_a_row + 1 } else { 0 };
        last = reader;
        in_a_row > 20
    });
}
