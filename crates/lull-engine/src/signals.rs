//! Whether a thread has a signal to handle, or a tracer, from `/proc/TID/status`.

use nix::sys::signal::Signal;

/// What people and programs send to a job. Timers, children and sockets raise others.
const SPOKEN: [Signal; 11] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGABRT,
    Signal::SIGKILL,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTERM,
    Signal::SIGTSTP,
    Signal::SIGXCPU,
    Signal::SIGWINCH,
];

/// The hexadecimal mask in the line that begins with `name`.
fn mask(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| u64::from_str_radix(rest.trim_start_matches(':').trim(), 16).ok())
        .unwrap_or(0)
}

/// The pending signals that are not ignored, as the status has them.
fn pending(status: &str) -> u64 {
    (mask(status, "SigPnd") | mask(status, "ShdPnd")) & !mask(status, "SigIgn")
}

/// Whether thread `tid` has a signal to handle, or is gone.
pub(crate) fn is_pending(tid: u32) -> bool {
    status_of(tid).is_none_or(|status| pending(&status) & !mask(&status, "SigBlk") != 0)
}

/// Whether somebody traces thread `tid`.
pub(crate) fn is_traced(tid: u32) -> bool {
    status_of(tid).is_some_and(|status| has_tracer(&status))
}

fn has_tracer(status: &str) -> bool {
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|pid| pid.trim() != "0")
}

/// The signals by which others talk to process `pid` that it has not taken, blocked ones too.
pub(crate) fn untaken(pid: u32) -> u64 {
    status_of(pid).map_or(0, |status| pending(&status) & spoken())
}

fn status_of(tid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{tid}/status")).ok()
}

/// The bits of `SPOKEN`.
fn spoken() -> u64 {
    SPOKEN.iter().fold(0, |mask, signal| mask | 1 << (*signal as u32 - 1))
}

#[cfg(test)]
mod tests;
