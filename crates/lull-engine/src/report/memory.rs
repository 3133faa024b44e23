//! What a run tells of memory.

use serde::{Deserialize, Serialize};

use crate::report::figures::bytes;

/// What became of the job's pages, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySummary {
    /// Brought into the page cache by the job.
    pub filled_bytes: u64,
    /// Taken out of it again, or found gone.
    pub evicted_bytes: u64,
    /// Kept for the job now.
    pub kept_bytes: u64,
    /// Made dirty by the job.
    pub dirtied_bytes: u64,
    /// … of which lull had written.
    pub written_bytes: u64,
    /// Dirty or being written now, and the most that ever was at a look.
    pub dirty_bytes: u64,
    /// See `dirty_bytes`.
    pub peak_dirty_bytes: u64,
    /// Touched by the job and not recorded, being too many at once.
    pub unseen_bytes: u64,
    /// Not taken out, being of files that cannot be opened by number.
    pub missed_bytes: u64,
    /// The job's processes, now and at most: shared pages count for each of them.
    pub resident_bytes: u64,
    /// See `resident_bytes`.
    pub peak_resident_bytes: u64,
    /// What is in swap of these.
    pub paged_out_bytes: u64,
    /// Taken from the job because the foreground wanted memory.
    pub given_bytes: u64,
    /// Written to swap before anybody needed it.
    pub laundered_bytes: u64,
    /// What the job may have now; `None`: anything.
    pub ceiling_bytes: Option<u64>,
}

impl MemorySummary {
    /// A line for a person.
    pub fn text(&self) -> String {
        let mut text = format!(
            "lull: memory: at most {} resident; page cache: {} brought in, {} taken out again",
            bytes(self.peak_resident_bytes),
            bytes(self.filled_bytes),
            bytes(self.evicted_bytes)
        );
        for (amount, what) in [
            (self.kept_bytes, "kept"),
            (self.unseen_bytes, "not recorded"),
            (self.missed_bytes, "of files that cannot be opened by number"),
        ] {
            if amount > 0 {
                text += &format!(", {} {what}", bytes(amount));
            }
        }
        if self.dirtied_bytes > 0 {
            text += &format!(
                "; {} made dirty, {} at most at a time, {} written by lull",
                bytes(self.dirtied_bytes),
                bytes(self.peak_dirty_bytes),
                bytes(self.written_bytes)
            );
        }
        if self.given_bytes > 0 {
            text += &format!("; {} given to the foreground", bytes(self.given_bytes));
        }
        if self.laundered_bytes > 0 {
            text += &format!("; {} written to swap ahead of need", bytes(self.laundered_bytes));
        }
        text.push('\n');
        text
    }

    /// A few words for the status line.
    pub fn short_text(&self) -> String {
        let mut text = format!("resident {}", bytes(self.resident_bytes));
        for (amount, what) in [
            (self.paged_out_bytes, "paged out"),
            (self.kept_bytes, "cache kept"),
            (self.dirty_bytes, "dirty"),
        ] {
            if amount > 0 {
                text += &format!(", {what} {}", bytes(amount));
            }
        }
        if let Some(ceiling) = self.ceiling_bytes {
            text += &format!(", at most {}", bytes(ceiling));
        }
        text
    }
}

#[cfg(test)]
mod tests;
