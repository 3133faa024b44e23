//! What `lull reserve` can keep here, tried: groups are made, hold nothing, and go again.

use std::path::PathBuf;

use lull_linux::probe::Facts;
use lull_linux::reserve::{Enforcement, Told, sweep};
use lull_linux::root::Root;
use serde::Serialize;

use super::page::{Page, Tone};
use crate::reserve::tell_interfaces;

/// The outcome.
#[derive(Debug, Serialize)]
pub(super) struct Reservations {
    resources: Vec<Told>,
    /// Whether the tree can be mounted.
    fuse: bool,
    /// Groups of mounts that were killed.
    left: Vec<PathBuf>,
}

impl Reservations {
    /// Tries.
    pub(super) fn look(facts: &Facts) -> Self {
        let fuse = std::path::Path::new("/dev/fuse").exists();
        let left = sweep::left(&Root::real(), &facts.cgroups);
        let mut resources = Enforcement::tell(facts);
        resources.push(tell_interfaces());
        Self { resources, fuse, left }
    }

    /// Tells.
    pub(super) fn write(&self, page: &mut Page) {
        page.section("Reservations: what lull reserve can keep");
        if !self.fuse {
            page.line("mount", Tone::Bad, "/dev/fuse does not exist: `modprobe fuse`");
        }
        if let Some(first) = self.left.first() {
            let text = format!(
                "{} groups of a mount that was killed, like {}: `lull reserve unmount DIR`, with its place, dissolves them",
                self.left.len(),
                first.display()
            );
            page.line("left", Tone::Bad, &text);
        }
        for told in &self.resources {
            let tone = if told.enforced { Tone::Good } else { Tone::Fair };
            let text = if told.enforced { told.means.clone() } else { format!("not here: {}", told.means) };
            page.line(&told.name, tone, &text);
        }
    }
}
