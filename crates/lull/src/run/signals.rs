//! Whether a thread has a signal to handle, from `/proc/TID/status`.

/// The hexadecimal mask in the line that begins with `name`.
fn mask(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| u64::from_str_radix(rest.trim_start_matches(':').trim(), 16).ok())
        .unwrap_or(0)
}

/// Whether the status shows a pending signal that is neither blocked nor ignored.
fn shows_pending(status: &str) -> bool {
    let pending = mask(status, "SigPnd") | mask(status, "ShdPnd");
    pending & !mask(status, "SigBlk") & !mask(status, "SigIgn") != 0
}

/// Whether thread `tid` has a signal to handle, or is gone.
pub(crate) fn is_pending(tid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{tid}/status")).map_or(true, |status| shows_pending(&status))
}

#[cfg(test)]
mod tests;
