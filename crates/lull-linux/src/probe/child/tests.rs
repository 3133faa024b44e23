use super::*;

fn close_nothing() -> [i32; 2] {
    // SAFETY: closing a descriptor that can't be open gives EBADF and nothing else.
    let closed = unsafe { libc::close(-1) };
    [errno_of(closed.into()), 0]
}

fn die() -> [i32; 1] {
    // SAFETY: ends this (child) process.
    unsafe { libc::_exit(3) }
}

#[test]
fn error_numbers_come_back_from_the_child() {
    assert_eq!(in_child(close_nothing).unwrap(), [libc::EBADF, 0]);
}

#[test]
fn a_child_that_dies_is_an_error_and_no_success() {
    assert!(in_child(die).is_err());
}
