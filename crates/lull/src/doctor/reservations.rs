//! What `lull reserve` can keep here, tried: groups are made, hold nothing, and go again.

use lull_linux::probe::Facts;
use lull_linux::reserve::{Enforcement, Told};
use serde::Serialize;

use super::page::{Page, Tone};

/// The outcome.
#[derive(Debug, Serialize)]
pub(super) struct Reservations {
    resources: Vec<Told>,
    /// Whether the tree can be mounted.
    fuse: bool,
}

impl Reservations {
    /// Tries.
    pub(super) fn look(facts: &Facts) -> Self {
        let fuse = std::path::Path::new("/dev/fuse").exists();
        Self { resources: Enforcement::tell(facts), fuse }
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page) {
        page.section("Reservations: what lull reserve can keep");
        if !self.fuse {
            page.line("mount", Tone::Bad, "/dev/fuse does not exist: `modprobe fuse`");
        }
        for told in &self.resources {
            let tone = if told.enforced { Tone::Good } else { Tone::Fair };
            let text = if told.enforced { told.means.clone() } else { format!("not here: {}", told.means) };
            page.line(&told.name, tone, &text);
        }
    }
}
