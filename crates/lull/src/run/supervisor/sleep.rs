//! The loop thread's sleep: until one of its descriptors is readable or a time has come.

use std::os::fd::RawFd;

use lull_core::Nanos;
use lull_linux::clock;

/// See the module.
#[derive(Default)]
pub(crate) struct Sleep {
    polls: Vec<libc::pollfd>,
}

impl Sleep {
    /// Sleeps until one of `fds` is readable, at most until then.
    pub(crate) fn until(&mut self, fds: impl IntoIterator<Item = RawFd>, until: Option<Nanos>) {
        self.polls.clear();
        self.polls.extend(fds.into_iter().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }));
        let span = until.map(|until| until.since(clock::now()));
        let timeout = span.map(|span| libc::timespec {
            tv_sec: i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(span.0 % 1_000_000_000).unwrap_or(0),
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the records and the timeout live through the call.
        unsafe {
            libc::ppoll(self.polls.as_mut_ptr(), self.polls.len() as libc::nfds_t, timeout, std::ptr::null());
        }
    }

    /// Whether this one ended the last sleep.
    pub(crate) fn is_ready(&self, fd: RawFd) -> bool {
        self.polls.iter().any(|poll| poll.fd == fd && poll.revents != 0)
    }
}

#[cfg(test)]
mod tests;
