//! A shell script beside a test network, for work on lull itself: `netbed RATE_MBIT DELAY_MS SCRIPT`.
//!
//! In the script `$LEFT` and `$RIGHT` are commands that run their arguments on one of the hosts; the right host has the
//! addresses 10.77.0.2 and fd77::2.

use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, ExitCode};

use lull_bench::netbed::{Bed, Host, LinkPlan};
use lull_core::Nanos;

fn enter(host: &Host) -> String {
    let handle = host.namespace().as_fd().as_raw_fd();
    format!("nsenter --net=/proc/{}/fd/{handle}", std::process::id())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u32>().ok());
    let (Some(rate_mbit), Some(delay_ms), Some(script)) = (number(1), number(2), arguments.get(3)) else {
        eprintln!("usage: netbed RATE_MBIT DELAY_MS SCRIPT");
        return ExitCode::from(2);
    };
    let plan = LinkPlan::of_rate(rate_mbit).with_delay(Nanos::from_millis(delay_ms.into()));
    let bed = match Bed::build(&plan) {
        Ok(bed) => bed,
        Err(error) => {
            eprintln!("netbed: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("LEFT", enter(&bed.left)).env("RIGHT", enter(&bed.right));
    match shell.status() {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(error) => {
            eprintln!("netbed: cannot start sh: {error}");
            ExitCode::FAILURE
        }
    }
}
