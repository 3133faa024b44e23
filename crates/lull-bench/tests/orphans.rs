//! A harness that adopts orphans. Alone in its program: adopting concerns the whole process.

use std::ffi::OsString;
use std::process::ChildStdout;

use lull_bench::Error;
use lull_bench::process::{Options, Proc, adopt, lines};
use lull_core::Nanos;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Leaves behind a process in a session of its own that computes, then says how long in all.
const LEAVES_ONE: &str = "(setsid sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; times' &)";

fn start(script: &str) -> Result<(Proc, ChildStdout), Error> {
    Proc::spawn(&["sh", "-c", script].map(OsString::from), Options::default())
}

/// `0m1.250s` in seconds.
fn seconds(time: &str) -> Option<f64> {
    let (minutes, rest) = time.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + rest.parse::<f64>().ok()?)
}

#[test]
fn what_outlives_its_leader_is_waited_for_and_counted() {
    adopt().unwrap();
    let (mut earlier, stdout) = start("(setsid sleep 300 & echo $!); exit 0").unwrap();
    let sleeper: i32 = lines(stdout).recv().unwrap().parse().unwrap();
    assert!(earlier.wait().unwrap().status.success());
    assert!(!earlier.await_left_behind(Nanos::from_millis(100)).all_ended);

    let (mut beside, _beside_stdout) = start("exit 5").unwrap();
    let (mut leader, stdout) = start(LEAVES_ONE).unwrap();
    let exit = leader.wait().unwrap();
    let left = leader.await_left_behind(Nanos::from_secs(120));
    assert!(left.all_ended, "what was there before is not its");
    let said: Vec<f64> =
        lines(stdout).iter().next().unwrap().split_whitespace().filter_map(seconds).collect();
    let (said, counted) = (said.iter().sum::<f64>(), left.usage.cpu.as_secs_f64());
    assert!(said > 0.0 && counted > said - 0.05 && counted < said + 5.0, "{said} {left:?}");
    assert!(left.usage.peak_bytes > 0);
    assert_eq!(exit.and(left.usage).cpu, exit.cpu.plus(left.usage.cpu));
    assert_eq!(beside.wait().unwrap().status.code(), Some(5), "another leader is nobody's orphan");

    kill(Pid::from_raw(sleeper), Signal::SIGKILL).unwrap();
    assert!(earlier.await_left_behind(Nanos::from_secs(120)).all_ended);
}
