use super::*;

fn sh(script: &str) -> Vec<OsString> {
    ["sh", "-c", script].iter().map(OsString::from).collect()
}

#[test]
fn command_lines_are_quoted_for_a_shell() {
    assert_eq!(shown(&sh("echo it's")), r"sh -c 'echo it'\''s'");
    let program = Program::new("/bin/lull".into());
    assert_eq!(shown(&program.load_argv(["disk-read", "--json"])), "/bin/lull load disk-read --json");
    assert_eq!(
        shown(&program.run_argv(&["--depth".to_owned(), "4".to_owned()])),
        "/bin/lull run --depth 4 --"
    );
}

#[test]
fn output_and_status_come_back() {
    let (mut process, stdout) = Proc::spawn(&sh("echo one; echo two; exit 3"), Options::default()).unwrap();
    assert_eq!(lines(stdout).iter().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(process.wait().unwrap().status.code(), Some(3));
}

#[test]
fn failures_quote_the_end_of_standard_error() {
    let (mut process, _stdout) = Proc::spawn(&sh("echo oh no >&2; exit 1"), Options::default()).unwrap();
    process.wait().unwrap();
    let error = process.failed("it failed").to_string();
    assert!(error.ends_with("it failed: oh no"), "{error}");
}

#[test]
fn a_missing_command_is_named() {
    let argv = [OsString::from("/no/such/command")];
    let error = Proc::spawn(&argv, Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("'/no/such/command': cannot start it"), "{error}");
}

#[test]
fn dropping_ends_the_process() {
    let (process, stdout) = Proc::spawn(&sh("echo ready; exec sleep 1000"), Options::default()).unwrap();
    let pid = process.pid();
    assert_eq!(lines(stdout).recv().as_deref(), Ok("ready"));
    drop(process);
    assert_eq!(kill(pid, None), Err(nix::errno::Errno::ESRCH));
}

#[test]
fn children_left_behind_go_too() {
    let script = sh("sleep 1000 & echo $!; wait");
    let (mut process, stdout) = Proc::spawn(&script, Options::default()).unwrap();
    let child = Pid::from_raw(lines(stdout).recv().unwrap().parse().unwrap());
    process.stop().unwrap();
    // It may stay a zombie for a moment, until its new parent has looked.
    let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[test]
fn a_leashed_process_sees_its_owner_go() {
    let options = Options { leash: true, ..Options::default() };
    let script = sh("trap '' TERM; echo ready; read line; exit 7");
    let (mut process, stdout) = Proc::spawn(&script, options).unwrap();
    assert_eq!(lines(stdout).recv().as_deref(), Ok("ready"));
    assert_eq!(process.stop().unwrap().status.code(), Some(7));
}
