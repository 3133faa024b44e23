//! Whether anybody is at work on the disks while the sensors are being loaded.
//!
//! Problem: loading takes tens of milliseconds, more with every observer. A job's call that waits for it has waited for nothing if
//! nobody else uses a disk, and to a job that writes for a moment that is most of its time.
//!
//! Approach: the kernel's counters, when the supervisor starts and when the job is about to. If no request was served in
//! between and none is in service, calls pass until the sensors stand; else they wait, and the first decision is the
//! policy's. What a foreground loses that comes just then is bounded by the loading, which is not at lull's low priority then, and by
//! the one call that each of the job's threads has begun.
//!
//! Source: `Documentation/admin-guide/iostats.rst`. Edge cases: a disk that comes or goes between the looks counts as work;
//! so does a file that cannot be read.

/// Field of a line that counts requests in service, from 0.
const IN_SERVICE: usize = 11;

/// The counters of all disks at one moment.
pub(crate) struct FirstLook(Option<String>);

impl FirstLook {
    /// A first look.
    pub(crate) fn begin() -> Self {
        Self(counters())
    }

    /// A second look: whether nobody was at work since the first, nor is now.
    pub(crate) fn lasts(&self) -> bool {
        self.0.as_deref().zip(counters().as_deref()).is_some_and(|(before, after)| is_quiet(before, after))
    }
}

fn counters() -> Option<String> {
    std::fs::read_to_string("/proc/diskstats").ok()
}

fn is_quiet(before: &str, after: &str) -> bool {
    before == after
        && after.lines().all(|line| line.split_whitespace().nth(IN_SERVICE).is_some_and(|count| count == "0"))
}

#[cfg(test)]
mod tests;
