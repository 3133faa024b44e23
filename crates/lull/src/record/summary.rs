//! What was recorded, and what is missing from it.

use std::fmt::Write;
use std::path::Path;

use lull_core::Nanos;

/// One disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) name: String,
    /// Of the foreground, of the background.
    pub(super) requests: [u64; 2],
    /// Of neither class: left out.
    pub(super) neutral: u64,
    /// Without room.
    pub(super) dropped: u64,
    /// Their end was missed.
    pub(super) healed: u64,
    /// Still in service at the end.
    pub(super) unfinished: u64,
}

/// The whole recording.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) span: Nanos,
    pub(super) parts: Vec<Part>,
    /// Events that no program saw, if the kernel says.
    pub(super) missed: Option<u64>,
}

impl Summary {
    fn sum(&self, value: impl Fn(&Part) -> u64) -> u64 {
        self.parts.iter().map(value).sum()
    }

    /// All that counts, in one line.
    pub(super) fn line(&self) -> String {
        let [foreground, background] = [0, 1].map(|class| self.sum(|part| part.requests[class]));
        format!(
            "{} requests in {}: {foreground} foreground, {background} background; dropped {}, events missed {}, \
             ends missed {}, unfinished {}; left out as neither class {}",
            foreground + background,
            self.span,
            self.sum(|part| part.dropped),
            self.missed.map_or_else(|| "unknown".to_owned(), |missed| missed.to_string()),
            self.sum(|part| part.healed),
            self.sum(|part| part.unfinished),
            self.sum(|part| part.neutral),
        )
    }

    /// For the person who recorded.
    pub(super) fn page(&self, out: &Path) -> String {
        let mut text = format!("lull: {}\n", self.line());
        let busy: Vec<&Part> = self.parts.iter().filter(|part| part.requests != [0, 0]).collect();
        if busy.len() > 1 {
            for part in &busy {
                let [foreground, background] = part.requests;
                let _ = writeln!(text, "  {}: {foreground} foreground, {background} background", part.name);
            }
        }
        if self.sum(|part| part.dropped) > 0 {
            text += "  some requests are missing: the machine was too busy to empty the ring in time; record fewer disks\n";
        }
        text += &if busy.iter().all(|part| part.requests[0] == 0) {
            "  no foreground request was seen: record while the foreground works\n".to_owned()
        } else if out == Path::new("-") {
            "next: lull advise - reads what was written\n".to_owned()
        } else {
            format!("next: lull advise {}\n", out.display())
        };
        text
    }
}

#[cfg(test)]
mod tests;
