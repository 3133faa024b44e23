//! What lull's own threads weigh beside others.

/// The nice value that weighs least.
pub const LOWEST: libc::c_int = 19;

/// Sets what one thread weighs, and what its session weighs under autogroup. An ordinary user may only make both less.
pub fn set_weight(thread: u32, nice: libc::c_int) {
    // SAFETY: plain integers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, nice) };
    // There is no such file without autogroup.
    let _ = std::fs::write(format!("/proc/{thread}/autogroup"), nice.to_string());
}

/// Loads something. A sensor is wanted most where the CPUs are busiest: at the supervisor's own priority it would take seconds.
pub fn at_normal_priority<T>(work: impl FnOnce() -> T) -> T {
    let set = |nice| set_weight(nix::unistd::gettid().as_raw().unsigned_abs(), nice);
    set(0);
    let done = work();
    set(LOWEST);
    done
}
