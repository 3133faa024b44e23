//! How much of the job's TCP waits in the interface's queue while the foreground sends there: what the foreground's next
//! packet finds before it. The test network's bottleneck is that queue.
//!
//! The queue itself is asked, not lull. That the same upload without lull has more there shows that the bound is lull's, and
//! not the kernel's own on what a socket may have in a queue.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::VecDeque;
use std::io::Read;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::net::{bed, connections, for_bash, listener, number_of, on_left, socket};
use common::{assert_nothing_left, finish, new_marker, spawn_marked, wait_until};
use lull_bench::netbed::{Bed, DEVICE};

/// A full packet of an Ethernet with its header.
const PACKET_BYTES: u64 = 1_514;
/// The two packets of a held connection, and as much again: for the foreground's own, and for what is sent anew.
const MOST_BYTES: u64 = 4 * PACKET_BYTES;
/// So much has to leave the queue while it is looked at.
const LOOK_BYTES: u64 = 100_000;
/// What usually waits of an open connection beside a foreground: the two packets that it may add, and the foreground's own.
/// Without lull's bound it is twice that and more.
const USUAL_BYTES: u64 = 3 * PACKET_BYTES;
/// Between two looks at an open connection more leaves than the queue may hold.
const BETWEEN_LOOKS_BYTES: u64 = 16 * PACKET_BYTES;
/// So many looks at an open connection one after the other are judged together.
const LOOKS: usize = 41;
/// Of them so many find what is usual. Chance alone does not give that many where the bound is missing.
const USUAL_LOOKS: usize = 25;

/// What the left host's queue holds at this moment, and what has left it so far, in bytes.
fn queue(bed: &Bed) -> (u64, u64) {
    let output = bed.left.command("tc").args(["-j", "-s", "qdisc", "show", "dev", DEVICE]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let root = shown.as_array().unwrap().iter().find(|one| one["root"] == true).unwrap();
    (root["backlog"].as_u64().unwrap(), root["bytes"].as_u64().unwrap())
}

/// Takes what comes in one connection until `stop`; the sender sees a broken one then.
fn sink(bed: &Bed, stop: &Arc<AtomicBool>) -> SocketAddr {
    let (to, listener) = listener(&bed.right, bed.right.v4());
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let (mut stream, mut space) = (listener.accept().unwrap().0, [0; 1 << 14]);
        while !stop.load(Ordering::Relaxed) && stream.read(&mut space).is_ok_and(|length| length > 0) {}
    });
    to
}

/// Looks at an upload without end, beside a foreground that sends small datagrams; then ends both.
fn beside_a_foreground(bed: &Bed, start: impl FnOnce(&str) -> Child, look: impl FnOnce(SocketAddr)) -> Child {
    let stop = Arc::new(AtomicBool::new(false));
    let to = sink(bed, &stop);
    let (sender, receiver) = (socket(&bed.left), socket(&bed.right));
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let child = start(&format!("exec cat /dev/zero > {}", for_bash(to)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                sender.send(b"foreground").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        // A failure has to end the others, too, or the test would hang.
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(to)));
        stop.store(true, Ordering::Relaxed);
        looked.unwrap();
    });
    child
}

#[test]
fn root_a_held_upload_leaves_the_interface_s_queue_to_the_foreground() {
    let Some(bed) = bed() else { return };
    let plain = |script: &str| {
        let mut command: Command = bed.left.command("bash");
        command.args(["-c", script]).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let without = beside_a_foreground(&bed, plain, |_| {
        wait_until("more to wait in the queue without lull", || queue(&bed).0 > MOST_BYTES);
    });
    finish(without);

    let marker = new_marker();
    let options = ["--resources", "net", "--interval", "inf"];
    let held = |script: &str| spawn_marked(&mut on_left(&bed, &options, script), &marker);
    let child = beside_a_foreground(&bed, held, |to| {
        wait_until("the upload to be held, and what it had sent before to arrive", || {
            let shown = connections(&bed.left, &format!("dport = :{}", to.port()));
            let in_flight = number_of(&shown, "unacked:").unwrap_or(0);
            number_of(&shown, "cwnd:").is_some_and(|window| window <= 2) && in_flight <= 2
        });
        let until = queue(&bed).1 + LOOK_BYTES;
        let (mut looks, mut more) = (0, 0);
        wait_until("the trickle of the upload to leave the queue", || {
            let (waiting, left) = queue(&bed);
            looks += 1;
            // Now and then, where the machine has taken the CPU away that sends.
            more += i32::from(waiting > MOST_BYTES);
            left >= until
        });
        assert!(
            more * 4 <= looks,
            "at {more} of {looks} looks more than {MOST_BYTES} bytes wait in the queue"
        );
    });
    let front = child.id();
    finish(child);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_an_open_upload_usually_leaves_the_queue_almost_empty_beside_a_foreground() {
    let Some(bed) = bed() else { return };
    let marker = new_marker();
    let open = |script: &str| {
        spawn_marked(&mut on_left(&bed, &["--resources", "net", "--interval", "none"], script), &marker)
    };
    let child = beside_a_foreground(&bed, open, |to| {
        wait_until("the upload to be open", || {
            let shown = connections(&bed.left, &format!("dport = :{}", to.port()));
            number_of(&shown, "cwnd:").is_some_and(|window| window > 2)
        });
        let (mut next, mut waited) = (0, VecDeque::new());
        // Where the machine takes our CPU away for a moment, acknowledgements come many at once, and so do packets.
        wait_until("the queue to be almost empty at most of the looks", || {
            let (waiting, left) = queue(&bed);
            // What an idle sender leaves empty says nothing.
            if left < next || waiting == 0 {
                return false;
            }
            next = left + BETWEEN_LOOKS_BYTES;
            waited.push_back(waiting);
            if waited.len() > LOOKS {
                waited.pop_front();
            }
            let few = waited.iter().filter(|waiting| **waiting <= USUAL_BYTES).count();
            waited.len() == LOOKS && few >= USUAL_LOOKS
        });
    });
    let front = child.id();
    finish(child);
    assert_nothing_left(front, &marker);
}
