//! A call that waits at the gate is let go when it has waited for long: whoever of the foreground waits for the job goes on, too.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::foreground::{Foreground, Rhythm};
use common::{assert_nothing_left, clean_text, finish, lull_run, needs_root, new_marker, spawn_marked};

#[test]
fn root_beside_a_foreground_that_may_lose_nothing_every_call_is_let_go_in_the_end() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = dir.path().join("data");
    std::fs::write(&data, vec![5; 12 * 128 * 1024]).unwrap();
    std::fs::File::open(&data).unwrap().sync_all().unwrap();
    let Some(_foreground) = Foreground::start(dir.path(), Rhythm::Steady) else { return };
    let marker = new_marker();
    let options = ["--resources", "disk", "--max-slowdown", "0%"];
    let input = format!("if={}", data.display());
    let words = ["dd", &input, "of=/dev/null", "bs=128k", "iflag=direct", "status=none"];
    let child = spawn_marked(&mut lull_run(&options, &words), &marker);
    let front = child.id();
    assert_eq!(clean_text(&finish(child)), "");
    assert_nothing_left(front, &marker);
}
