use super::*;

#[test]
fn a_status_is_as_a_shell_writes_it() {
    assert_eq!(Ending::Exited(3).status(), 3);
    assert_eq!(Ending::Killed(Signal::SIGTERM).status(), 143);
}

#[test]
fn how_a_helper_was_lost_is_told_in_words() {
    let pid = Pid::from_raw(1);
    let told = |end| how_it_ended(end);
    assert_eq!(told(WaitStatus::Exited(pid, 101)), "failed (exit status 101)");
    assert_eq!(told(WaitStatus::Exited(pid, 0)), "has ended");
    assert_eq!(told(WaitStatus::Signaled(pid, Signal::SIGSEGV, true)), "was ended by SIGSEGV");
    assert!(told(WaitStatus::Signaled(pid, Signal::SIGKILL, false)).starts_with("was killed"));
}

#[test]
fn what_ends_a_program_is_handed_on_to_the_job() {
    assert!(ENDS.iter().all(|signal| FORWARDED.contains(signal)));
}
