//! The quick part of the conformance suite: programs come to the same results natively, under lull alone, and while lull holds them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::{needs_root, output_within};

/// Eleven programs, four times each, on a machine that may be busy.
const LIMIT: Duration = Duration::from_secs(1200);

#[test]
fn root_programs_come_to_the_same_results_while_they_are_held() {
    if !needs_root() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/conformance.sh");
    let mut command = Command::new(script);
    command.args(["--quick", "--awake"]).env("LULL", env!("CARGO_BIN_EXE_lull"));
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    command.env("CONFORMANCE_DIR", place.path());
    let output = output_within(LIMIT, &mut command);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("{told}");
}
