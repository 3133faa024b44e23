//! Setting the marks between fork and exec.
//!
//! Everything here runs in a forked child of a threaded process: raw system calls on prepared values only.

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use serde::Serialize;

use crate::probe::cpu::IOPRIO_IDLE;

/// Added to the job's own `oom_score_adj`: with the most that there is, no program of the foreground is larger.
pub(super) const OOM_SCORE_STEP: i32 = 1000;
const OOM_SCORE_MAX: i32 = 1000;
/// Long enough for timers to fire together, short beside the disk's and the user's times.
const TIMER_SLACK_NS: libc::c_ulong = 1_000_000;
pub(super) const NICE_LOWEST: libc::c_int = 19;
pub(super) const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// One mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// I/O class idle.
    IoprioIdle,
    /// CPU class SCHED_IDLE.
    SchedIdle,
    /// Nice 19.
    Nice,
    /// First to be killed when memory runs out.
    OomScore,
    /// Timers may fire up to 1 ms late.
    TimerSlack,
}

impl Mark {
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Some marks, as bits: a value that can be carried across fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkSet(u32);

impl MarkSet {
    /// Adds a mark.
    #[must_use]
    pub const fn with(self, mark: Mark) -> Self {
        Self(self.0 | mark.bit())
    }

    /// Is the mark in the set?
    pub const fn contains(self, mark: Mark) -> bool {
        self.0 & mark.bit() != 0
    }

    /// Is the set empty?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Sets all marks of the set on the calling thread's process, and returns those that the kernel refused: a job
    /// without one of its marks is still a job. Async-signal-safe.
    #[must_use]
    pub fn apply(self) -> Self {
        let mut refused = Self::default();
        for mark in [Mark::IoprioIdle, Mark::SchedIdle, Mark::Nice, Mark::OomScore, Mark::TimerSlack] {
            if self.contains(mark) && !set(mark) {
                refused = refused.with(mark);
            }
        }
        refused
    }
}

impl FromIterator<Mark> for MarkSet {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Self {
        marks.into_iter().fold(Self::default(), Self::with)
    }
}

/// Moves the calling process into control groups, given the open `cgroup.procs` of each. Async-signal-safe.
pub fn enter(entries: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    for entry in entries {
        // SAFETY: the buffer is one byte long and the descriptor is open for the borrow.
        let written = unsafe { libc::write(entry.as_raw_fd(), b"0".as_ptr().cast(), 1) };
        Errno::result(written)?;
    }
    Ok(())
}

fn set(mark: Mark) -> bool {
    match mark {
        Mark::IoprioIdle => {
            // SAFETY: changes the calling process's own I/O class; no pointers.
            unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE) == 0 }
        }
        Mark::SchedIdle => {
            let none = libc::sched_param { sched_priority: 0 };
            // SAFETY: the kernel reads one sched_param from the pointer.
            unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const none) == 0 }
        }
        // SAFETY: changes the calling process's own nice value; no pointers.
        Mark::Nice => unsafe {
            libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, NICE_LOWEST) == 0
        },
        Mark::OomScore => raise_oom_score(),
        // SAFETY: changes the calling thread's own slack, which its children inherit; no pointers.
        Mark::TimerSlack => unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0) == 0 },
    }
}

fn raise_oom_score() -> bool {
    let flags = libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    let fd = unsafe { libc::open(c"/proc/self/oom_score_adj".as_ptr(), flags) };
    if fd < 0 {
        return false;
    }
    let mut text = [0_u8; 16];
    // SAFETY: the buffer's true length is given, and `fd` is open.
    let read = unsafe { libc::pread(fd, text.as_mut_ptr().cast(), text.len(), 0) };
    let old = usize::try_from(read).ok().and_then(|length| text.get(..length)).and_then(parse_decimal);
    let done = old.is_some_and(|old| {
        let (text, length) = decimal(raised(old));
        // SAFETY: `length` bytes of the buffer are filled, and `fd` is open.
        unsafe { libc::pwrite(fd, text.as_ptr().cast(), length, 0) > 0 }
    });
    // SAFETY: `fd` is ours and not used again.
    unsafe { libc::close(fd) };
    done
}

/// The score of a job started by a process with score `old`.
pub(super) const fn raised(old: i32) -> i32 {
    let new = old.saturating_add(OOM_SCORE_STEP);
    if new > OOM_SCORE_MAX { OOM_SCORE_MAX } else { new }
}

/// Parses a decimal number up to the first byte that is none, without allocation.
pub(crate) fn parse_decimal(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut seen = false;
    let mut value = 0_i32;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(i32::from(digit - b'0'))?;
        seen = true;
    }
    seen.then_some(if negative { -value } else { value })
}

/// A number's decimal digits and their count, without allocation.
pub(crate) fn decimal(value: i32) -> ([u8; 12], usize) {
    let mut reversed = [0_u8; 12];
    let mut count = 0;
    let mut rest = value.unsigned_abs();
    loop {
        reversed[count] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        count += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        reversed[count] = b'-';
        count += 1;
    }
    reversed[..count].reverse();
    (reversed, count)
}
