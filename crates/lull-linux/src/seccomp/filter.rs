//! Which calls of the job are trapped.
//!
//! Problem: a trapped call costs two context switches (15 µs on a small virtual machine, `docs/results/disk.md`), and the
//! filter sees only numbers: the call and its arguments, not what a descriptor refers to. Trapping every `read` doubles
//! the run time of a `tar` that reads 10 KiB at a time from the page cache.
//!
//! Approach: [`Scope::Large`] traps a call only when it can put more work into the device than it costs to ask:
//! `read` and `write` from [`LARGE_BYTES`] on, positioned calls that are large or shaped like direct I/O (address,
//! length and offset all multiples of 512), vectored calls (their lengths lie in memory), libaio, the fsync family and
//! in-kernel copies. What passes untrapped is small, buffered and one at a time; the hold gate watches it.
//! [`Scope::All`] traps every read and write.
//!
//! Sockets of the internet families are trapped when they are made, if that is wanted: whoever observes the network can then get
//! ready before there is any traffic. The other calls on sockets never are: they come too often, and their addresses lie in memory.
//!
//! Calls that ask for a thread's CPUs, or choose them, are trapped where CPUs are lent: they are made while the job is not confined.
//!
//! `io_uring_setup` fails with ENOSYS, so that programs fall back to calls that can be gated, unless it is allowed. Where calls are trapped it is
//! trapped too, and refused in the answer, so that lull can tell; so are seccomp filters of the job's own: the kernel refuses a listener to
//! whoever has one already, and a tracer's filter does not see what is trapped.
//! A call of another architecture than the one lull was built for (a 32-bit program) passes untrapped.

use std::str::FromStr;

use libc::sock_filter;

/// `read` and `write` calls of at least this many bytes are gated one by one in [`Scope::Large`].
pub const LARGE_BYTES: u32 = 64 * 1024;
/// Direct I/O needs address, length and offset in multiples of the sector size.
const SECTOR_MASK: u32 = 511;

/// How many of the job's calls the request gate sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Calls large or direct enough to be worth a trap.
    #[default]
    Large,
    /// Every read and write.
    All,
    /// None: only the hold gate acts.
    None,
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "large" => Ok(Self::Large),
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            _ => Err(format!("'{text}' is not a gate scope; use large, all or none")),
        }
    }
}

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;
#[cfg(target_arch = "riscv64")]
const AUDIT_ARCH: u32 = 0xC000_00F3;

/// Offsets in `struct seccomp_data`.
const NR: u32 = 0;
const ARCH: u32 = 4;
const fn low(arg: u32) -> u32 {
    16 + 8 * arg
}
const fn high(arg: u32) -> u32 {
    low(arg) + 4
}

/// When a call is trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Always,
    /// The length in this argument is at least [`LARGE_BYTES`].
    Large {
        length: u32,
    },
    /// Likewise, or (1, 2, 3) = (address, length, offset) are shaped like direct I/O.
    LargeOrDirect,
    /// The first argument is the family of IPv4 or IPv6.
    Internet,
    /// `prctl(PR_SET_SECCOMP, …)`.
    SetsFilter,
    /// The call fails with ENOSYS.
    Absent,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "opcodes and call numbers are small and positive"
)]
mod asm {
    use libc::{
        BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter,
    };

    const fn op(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
        sock_filter { code: code as u16, jt, jf, k }
    }
    pub(super) const fn load(offset: u32) -> sock_filter {
        op(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset)
    }
    pub(super) const fn and(mask: u32) -> sock_filter {
        op(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask)
    }
    pub(super) const fn jump_eq(k: u32, jt: u8, jf: u8) -> sock_filter {
        op(BPF_JMP | BPF_JEQ | BPF_K, jt, jf, k)
    }
    pub(super) const fn jump_ge(k: u32, jt: u8, jf: u8) -> sock_filter {
        op(BPF_JMP | BPF_JGE | BPF_K, jt, jf, k)
    }
    pub(super) const fn ret(action: u32) -> sock_filter {
        op(BPF_RET | BPF_K, 0, 0, action)
    }
    pub(super) const fn number(nr: libc::c_long) -> u32 {
        nr as u32
    }
    pub(super) const fn family(family: libc::c_int) -> u32 {
        family as u32
    }
    pub(super) const SET_SECCOMP: u32 = libc::PR_SET_SECCOMP as u32;
    pub(super) const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
}
use asm::{and, jump_eq, jump_ge, load, ret};

fn body(rule: Rule) -> Vec<sock_filter> {
    let trap = ret(libc::SECCOMP_RET_USER_NOTIF);
    let allow = ret(libc::SECCOMP_RET_ALLOW);
    match rule {
        Rule::Always => vec![trap],
        Rule::Absent => vec![ret(asm::ABSENT)],
        Rule::Large { length } => vec![
            load(high(length)),
            jump_eq(0, 0, 2),
            load(low(length)),
            jump_ge(LARGE_BYTES, 0, 1),
            trap,
            allow,
        ],
        Rule::LargeOrDirect => vec![
            load(high(2)),
            jump_eq(0, 0, 10),
            load(low(2)),
            jump_ge(LARGE_BYTES, 8, 0),
            and(SECTOR_MASK),
            jump_eq(0, 0, 7),
            load(low(1)),
            and(SECTOR_MASK),
            jump_eq(0, 0, 4),
            load(low(3)),
            and(SECTOR_MASK),
            jump_eq(0, 0, 1),
            trap,
            allow,
        ],
        Rule::SetsFilter => vec![load(low(0)), jump_eq(asm::SET_SECCOMP, 0, 1), trap, allow],
        // The kernel, too, looks at the lower half alone: it is an int.
        Rule::Internet => vec![
            load(low(0)),
            jump_eq(asm::family(libc::AF_INET), 1, 0),
            jump_eq(asm::family(libc::AF_INET6), 0, 1),
            trap,
            allow,
        ],
    }
}

/// What is trapped, and whether io_uring is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Reads and writes.
    pub scope: Scope,
    /// The job may use io_uring.
    pub io_uring: bool,
    /// New internet sockets.
    pub sockets: bool,
    /// Questions for a thread's CPUs, and choices of them.
    pub affinity: bool,
}

impl Wants {
    /// Whether any call is trapped, so that somebody has to listen.
    pub fn traps(&self) -> bool {
        self.scope != Scope::None || self.sockets || self.affinity
    }
}

fn rules(wants: Wants) -> Vec<(libc::c_long, Rule)> {
    let Wants { scope, io_uring, sockets, affinity } = wants;
    let mut rules = Vec::new();
    let told = wants.traps();
    if !io_uring {
        // Whoever answers trapped calls refuses it, and can tell.
        rules.push((libc::SYS_io_uring_setup, if told { Rule::Always } else { Rule::Absent }));
    }
    if sockets {
        rules.push((libc::SYS_socket, Rule::Internet));
    }
    if affinity {
        rules.extend([libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity].map(|nr| (nr, Rule::Always)));
    }
    if told {
        rules.extend([(libc::SYS_seccomp, Rule::Always), (libc::SYS_prctl, Rule::SetsFilter)]);
    }
    if scope == Scope::None {
        return rules;
    }
    let (simple, positioned) = match scope {
        Scope::All => (Rule::Always, Rule::Always),
        _ => (Rule::Large { length: 2 }, Rule::LargeOrDirect),
    };
    rules.extend([(libc::SYS_read, simple), (libc::SYS_write, simple)]);
    rules.extend([(libc::SYS_pread64, positioned), (libc::SYS_pwrite64, positioned)]);
    let always = [
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_preadv,
        libc::SYS_pwritev,
        libc::SYS_preadv2,
        libc::SYS_pwritev2,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_sync_file_range,
        libc::SYS_syncfs,
        libc::SYS_sync,
        libc::SYS_sendfile,
        libc::SYS_copy_file_range,
        libc::SYS_splice,
        libc::SYS_io_submit,
        libc::SYS_readahead,
    ];
    rules.extend(always.map(|nr| (nr, Rule::Always)));
    rules
}

/// The filter program; empty when nothing would be trapped or refused.
pub fn program(wants: Wants) -> Vec<sock_filter> {
    let rules = rules(wants);
    if rules.is_empty() {
        return Vec::new();
    }
    let mut program = vec![load(ARCH), jump_eq(AUDIT_ARCH, 1, 0), ret(libc::SECCOMP_RET_ALLOW), load(NR)];
    for (nr, rule) in rules {
        let body = body(rule);
        let past = u8::try_from(body.len()).unwrap_or(u8::MAX);
        program.push(jump_eq(asm::number(nr), 0, past));
        program.extend(body);
    }
    program.push(ret(libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(test)]
mod tests;
