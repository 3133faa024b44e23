//! The programs, run by a small interpreter on made-up calls.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "call numbers are small and positive"
)]

use super::{AUDIT_ARCH, Scope, Wants, program};
use libc::{SECCOMP_RET_ALLOW as ALLOW, SECCOMP_RET_USER_NOTIF as TRAP};
use proptest::prelude::*;

/// The value that `program` returns for a call.
fn run(program: &[libc::sock_filter], arch: u32, nr: i64, args: [u64; 6]) -> u32 {
    let mut data = [0_u8; 64];
    data[0..4].copy_from_slice(&(nr as u32).to_ne_bytes());
    data[4..8].copy_from_slice(&arch.to_ne_bytes());
    for (i, arg) in args.iter().enumerate() {
        data[16 + 8 * i..24 + 8 * i].copy_from_slice(&arg.to_ne_bytes());
    }
    let (mut at, mut a) = (0, 0_u32);
    loop {
        let i = program[at];
        at += 1;
        let jump = |taken: bool| usize::from(if taken { i.jt } else { i.jf });
        match u32::from(i.code) {
            0x20 => a = u32::from_ne_bytes(data[i.k as usize..i.k as usize + 4].try_into().unwrap()),
            0x54 => a &= i.k,
            0x15 => at += jump(a == i.k),
            0x35 => at += jump(a >= i.k),
            0x06 => return i.k,
            code => panic!("unknown opcode {code:#x}"),
        }
    }
}

fn native(scope: Scope, nr: i64, args: [u64; 6]) -> u32 {
    run(&program(Wants { scope, ..Wants::default() }), AUDIT_ARCH, nr, args)
}

#[test]
fn large_scope_asks_only_where_it_pays() {
    let large = |nr, args| native(Scope::Large, nr, args);
    assert_eq!(large(libc::SYS_read, [3, 0x1000, 10_240, 0, 0, 0]), ALLOW);
    assert_eq!(large(libc::SYS_read, [3, 0x1000, 65_535, 0, 0, 0]), ALLOW);
    assert_eq!(large(libc::SYS_read, [3, 0x1001, 65_536, 0, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_write, [3, 0x1001, 1 << 32, 0, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_pread64, [3, 0x1000, 4096, 8192, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_pread64, [3, 0x1010, 4096, 8192, 0, 0]), ALLOW);
    assert_eq!(large(libc::SYS_pread64, [3, 0x1000, 4095, 8192, 0, 0]), ALLOW);
    assert_eq!(large(libc::SYS_pread64, [3, 0x1000, 4096, 8193, 0, 0]), ALLOW);
    assert_eq!(large(libc::SYS_pwrite64, [3, 0x1001, 1 << 33, 8193, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_pwrite64, [3, 0x1001, 1 << 17, 8193, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_fsync, [3, 0, 0, 0, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_io_submit, [3, 1, 0, 0, 0, 0]), TRAP);
    assert_eq!(large(libc::SYS_futex, [3, 1, 0, 0, 0, 0]), ALLOW);
    assert_eq!(large(libc::SYS_sendmsg, [3, 1, 0, 0, 0, 0]), ALLOW);
}

#[test]
fn all_scope_asks_for_every_read() {
    assert_eq!(native(Scope::All, libc::SYS_read, [0; 6]), TRAP);
    assert_eq!(native(Scope::All, libc::SYS_pwrite64, [0; 6]), TRAP);
    assert_eq!(native(Scope::All, libc::SYS_openat, [0; 6]), ALLOW);
}

#[test]
fn sockets_are_asked_for_by_family_and_only_if_wanted() {
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET];
    for family in families {
        let args = [family as u64, libc::SOCK_STREAM as u64, 0, 0, 0, 0];
        let verdict = |sockets| {
            run(&program(Wants { sockets, ..Wants::default() }), AUDIT_ARCH, libc::SYS_socket, args)
        };
        let is_internet = [libc::AF_INET, libc::AF_INET6].contains(&family);
        assert_eq!(verdict(true) == TRAP, is_internet, "{family}");
        assert_eq!(verdict(false), ALLOW, "{family}");
    }
}

#[test]
fn io_uring_is_absent_unless_allowed() {
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    assert_eq!(native(Scope::None, libc::SYS_io_uring_setup, [0; 6]), absent);
    let allowed = |scope| program(Wants { scope, io_uring: true, ..Wants::default() });
    assert_eq!(run(&allowed(Scope::All), AUDIT_ARCH, libc::SYS_io_uring_setup, [0; 6]), ALLOW);
    assert!(allowed(Scope::None).is_empty());
    assert_eq!(native(Scope::Large, libc::SYS_io_uring_setup, [0; 6]), TRAP, "refused in the answer");
}

#[test]
fn filters_of_the_job_are_told() {
    let set = u64::from(libc::SECCOMP_SET_MODE_FILTER);
    assert_eq!(native(Scope::Large, libc::SYS_seccomp, [set, 0, 0, 0, 0, 0]), TRAP);
    assert_eq!(native(Scope::None, libc::SYS_seccomp, [set, 0, 0, 0, 0, 0]), ALLOW);
    for (option, verdict) in [(libc::PR_SET_SECCOMP, TRAP), (libc::PR_SET_NAME, ALLOW)] {
        let option = u64::from(option.unsigned_abs());
        assert_eq!(native(Scope::Large, libc::SYS_prctl, [option, 0, 0, 0, 0, 0]), verdict);
    }
}

#[test]
fn who_asks_for_its_cpus_is_answered_where_cpus_are_lent() {
    for nr in [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity] {
        for scope in [Scope::Large, Scope::None] {
            let verdict = |affinity| {
                run(&program(Wants { scope, affinity, ..Wants::default() }), AUDIT_ARCH, nr, [0; 6])
            };
            assert_eq!((verdict(true), verdict(false)), (TRAP, ALLOW));
        }
    }
    let listens = Wants { scope: Scope::None, affinity: true, ..Wants::default() };
    assert!(listens.traps() && !Wants { affinity: false, ..listens }.traps());
}

#[test]
fn calls_of_another_architecture_pass() {
    let program = program(Wants { scope: Scope::All, ..Wants::default() });
    assert_eq!(run(&program, 0x4000_0003, libc::SYS_read, [0; 6]), ALLOW);
}

proptest! {
    #[test]
    fn every_call_ends_in_a_verdict(nr in 0_i64..512, args: [u64; 6], scope in 0_usize..3) {
        let scope = [Scope::Large, Scope::All, Scope::None][scope];
        let verdict = native(scope, nr, args);
        prop_assert!([ALLOW, TRAP, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32].contains(&verdict));
    }

    #[test]
    fn positioned_calls_trap_exactly_when_large_or_aligned(address: u64, length: u64, offset: u64, aligned: bool) {
        let [address, length, offset] = if aligned { [address & !511, length & !511, offset & !511] } else { [address, length, offset] };
        let expect = length >= 65_536 || (address | length | offset) & 511 == 0;
        prop_assert_eq!(native(Scope::Large, libc::SYS_pread64, [3, address, length, offset, 0, 0]) == TRAP, expect);
    }
}
