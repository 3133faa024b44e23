//! The test program again, as a job of lull's on a test network: one of its ignored tests.

use std::net::SocketAddr;
use std::process::Child;

use lull_bench::netbed::Bed;
use serde_json::Value;

use super::go::Go;
use super::{AWAKE, assert_nothing_left, finish, lull_run, new_marker, spawn_marked};

/// This program as a job under lull on the left host, and its summary at the end.
pub(crate) struct JobRun {
    child: Child,
    marker: String,
    go: Go,
    summary: tempfile::NamedTempFile,
}

/// Runs the ignored test of this name.
pub(crate) fn start(bed: &Bed, test: &str, to: SocketAddr, options: &[&str]) -> JobRun {
    let summary = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = summary.path().to_str().unwrap();
    let options = [&["--resources", "net", "--json", "--summary", path], options].concat();
    let exe = std::env::current_exe().unwrap();
    let words = format!("{AWAKE}exec {} --ignored --exact {test} --nocapture", exe.to_str().unwrap());
    let mut command = lull_run(&options, &["bash", "-c", &words]);
    bed.left.namespace().confine(&mut command);
    let (marker, go) = (new_marker(), Go::new());
    command.env("LULL_TEST_TO", to.to_string()).env("LULL_TEST_GO", go.file());
    JobRun { child: spawn_marked(&mut command, &marker), marker, go, summary }
}

impl JobRun {
    /// Gives the sign that the job may wait for.
    pub(crate) fn give_sign(&self) {
        self.go.give();
    }

    /// The job's success, and what became of the bed's only interface.
    pub(crate) fn finish(self) -> Value {
        let front = self.child.id();
        let output = finish(self.child);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_nothing_left(front, &self.marker);
        let summary: Value = serde_json::from_reader(self.summary.as_file()).unwrap();
        summary["net"]["interfaces"][0].clone()
    }
}

/// Where such a job is to send.
pub(crate) fn to() -> SocketAddr {
    std::env::var("LULL_TEST_TO").unwrap().parse().unwrap()
}

/// In such a job: whether the test has given its sign.
pub(crate) fn has_sign() -> bool {
    std::path::Path::new(&std::env::var_os("LULL_TEST_GO").unwrap()).exists()
}

/// What was sent was told as the job's. Not all of it is counted: where sending interrupts the observer on its CPU, it misses some.
pub(crate) fn assert_background(interface: &Value, sent: usize) {
    assert!(interface["background_bytes"].as_u64().unwrap() >= sent as u64 / 2, "{interface}");
}
