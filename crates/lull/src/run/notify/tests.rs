use super::*;

#[test]
fn only_the_jobs_own_number_is_left_out() {
    let job = Pid::from_raw(123);
    let text = |text: &str| String::from_utf8(without_own_main(text.as_bytes(), job)).unwrap();
    assert_eq!(text("READY=1\nMAINPID=123\nSTATUS=up"), "READY=1\nSTATUS=up");
    assert_eq!(text("MAINPID=1234\nREADY=1\n"), "MAINPID=1234\nREADY=1\n");
    assert_eq!(text("MAINPID=123"), "");
}

#[test]
fn a_socket_of_another_kind_is_left_alone() {
    assert!(address(b"vsock:2:1234").is_none() && address(b"").is_none() && address(b"@").is_none());
    assert_eq!(address(b"@name").unwrap().as_abstract(), Some(&b"name"[..]));
    assert_eq!(address(b"/run/systemd/notify").unwrap().path(), Some(Path::new("/run/systemd/notify")));
}
