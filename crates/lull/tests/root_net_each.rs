//! Everything that is told about the network is told of each interface: by `lull doctor`, the status line and the summary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::Command;

use common::pty::Terminal;
use common::{lull, output};
use lull_bench::netbed::{self, Bed};

const NAMES: [&str; 2] = [netbed::DEVICE, "net1"];

/// A network whose hosts have a second link.
fn bed() -> Option<Bed> {
    let bed = common::net::bed()?;
    let ip = |host: &netbed::Host, words: &str| {
        assert!(host.command("ip").args(words.split(' ')).status().unwrap().success(), "{words}");
    };
    let peer = bed.right.namespace().path();
    ip(&bed.left, &format!("link add net1 type veth peer name net1 netns {peer}"));
    for (host, address) in [(&bed.left, "10.78.0.1/24"), (&bed.right, "10.78.0.2/24")] {
        ip(host, &format!("addr add {address} dev net1"));
        ip(host, "link set net1 up");
    }
    Some(bed)
}

fn on_left(bed: &Bed, words: &[&str]) -> Command {
    let mut command = lull();
    command.args(words);
    bed.left.namespace().confine(&mut command);
    command
}

/// A job that sends through both.
const SEND: &str =
    "for i in 1 2 3; do echo datagram > /dev/udp/10.77.0.2/9; echo datagram > /dev/udp/10.78.0.2/9; done";

#[test]
fn root_doctor_tells_of_each_interface() {
    let Some(bed) = bed() else { return };
    let told = String::from_utf8(output(&mut on_left(&bed, &["doctor"])).stdout).unwrap();
    for name in NAMES {
        let line = told.lines().find(|line| line.trim_start().starts_with(name));
        assert!(line.is_some_and(|line| line.contains("observed in its queue")), "{name}: {told}");
    }
}

#[test]
fn root_the_summary_tells_of_each_interface_that_was_used() {
    let Some(bed) = bed() else { return };
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = file.path().to_str().unwrap();
    let options = ["run", "--resources", "net", "--summary", path, "--", "bash", "-c", SEND];
    assert!(output(&mut on_left(&bed, &options)).status.success());
    let told = std::fs::read_to_string(path).unwrap();
    for name in NAMES {
        assert!(told.contains(&format!("lull: {name}: background ")), "{name}: {told}");
    }
}

#[test]
fn root_the_status_line_shows_each_interface_that_is_used() {
    let Some(bed) = bed() else { return };
    let script = format!("while :; do {SEND}; sleep 0.1; done");
    let inner = on_left(&bed, &["run", "--resources", "net", "--", "bash", "-c", &script]);
    // The line is cut at the terminal's width.
    let mut command = Command::new("sh");
    command.args(["-c", "stty cols 300; exec \"$@\"", "sh"]).arg(inner.get_program()).args(inner.get_args());
    command.env("TERM", "xterm").env("XDG_CONFIG_HOME", "/nonexistent");
    bed.left.namespace().confine(&mut command);
    let mut terminal = Terminal::start(command);
    for name in NAMES {
        // State, bytes and interval follow.
        terminal.wait_for(&format!("| {name} "), 1);
    }
    terminal.type_in(common::pty::CTRL_C);
    terminal.hang_up();
}
