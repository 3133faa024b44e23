use std::process::{Child, Command, Stdio};

use super::*;

fn share_of(pid: i32) -> Option<String> {
    let text = std::fs::read_to_string(autogroup_of(pid)).ok()?;
    Some(text.trim().rsplit_once("nice ")?.1.to_owned())
}

fn sleeper(in_session: bool) -> (Child, i32) {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("sleep");
    command.arg("1000").stdin(Stdio::null());
    if in_session {
        let lead = || nix::unistd::setsid().map(|_| ()).map_err(std::io::Error::from);
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(lead) };
    }
    let child = command.spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    (child, pid)
}

#[test]
fn sessions_of_the_job_are_lowered_and_the_users_is_not() {
    // SAFETY: only asks.
    let own = unsafe { libc::getsid(0) };
    let ((mut same, same_pid), (mut other, other_pid)) = (sleeper(false), sleeper(true));
    let before = share_of(same_pid);
    let mut sessions = Sessions::of_front(0, own);
    if before.is_some() {
        assert_eq!(sessions.lower(&[same_pid]), 0);
        assert_eq!(sessions.lower(&[same_pid, other_pid, 1 << 30]), 1);
        assert_eq!(share_of(other_pid).as_deref(), Some("19"));
        assert_eq!(share_of(same_pid), before);
        let mut led = Sessions::of_front(other_pid, other_pid);
        assert_eq!(led.users, None, "a session that lull leads has nobody else in it");
        assert_eq!(led.lower(&[]), 0);
    } else {
        eprintln!("SKIPPED: no autogroup here");
    }
    for child in [&mut same, &mut other] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
