use super::*;

#[test]
fn attempts_tell_the_system_s_answer() {
    assert!(Attempt::from_errno(0).works());
    let refused = Attempt::from_errno(libc::EPERM);
    assert_eq!(refused.errno(), Some(libc::EPERM));
    assert!(refused.to_string().contains("EPERM"), "{refused}");
    assert_eq!(Attempt::fails("because").errno(), None);
    let io: std::io::Result<()> = Err(std::io::Error::from_raw_os_error(libc::EROFS));
    assert_eq!(Attempt::from_io(&io).errno(), Some(libc::EROFS));
}
