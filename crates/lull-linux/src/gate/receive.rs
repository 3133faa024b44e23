//! Giving the job's connections their whole receive window back.
//!
//! lull's kernel programs choose the window that connections of the job announce: two packets while the foreground asks for something,
//! else what makes no queue. Where they are gone with a killed supervisor, whoever is left gives all of it back here: the guardian, or
//! the next lull. The descriptors are duplicated out of the job (pidfd_getfd), so that the option is set on the job's own socket.
//!
//! Source: tcp(7), TCP_WINDOW_CLAMP.

use std::fs;
use std::os::fd::AsRawFd;

use crate::gate::cached::borrow_descriptor;

/// More than any window.
static WIDE_BYTES: libc::c_int = 1 << 30;
/// The length of that value in bytes.
const WIDE_LEN: libc::socklen_t = 4;

/// Opens the receive windows of all connections of these processes. What is no connection is left as it is.
pub fn open_windows(pids: impl IntoIterator<Item = i32>) {
    for pid in pids {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        let Ok(pid) = u32::try_from(pid) else { continue };
        let sockets = entries.flatten().filter(|entry| {
            fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        });
        for fd in sockets.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            // It may have been closed since.
            let Ok(socket) = borrow_descriptor(pid, fd) else { continue };
            // SAFETY: an integer option and its size; sockets of other kinds refuse it.
            unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::IPPROTO_TCP,
                    libc::TCP_WINDOW_CLAMP,
                    (&raw const WIDE_BYTES).cast(),
                    WIDE_LEN,
                )
            };
        }
    }
}
