//! A loop device of a test's own, detached when it goes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A loop device over a file; detached when dropped.
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    pub(crate) backing: PathBuf,
}

impl Loop {
    /// `None`, said aloud, where there are none to be had.
    pub(crate) fn new(dir: &Path) -> Option<Self> {
        let backing = dir.join("backing");
        std::fs::write(&backing, vec![3; 8 << 20]).unwrap();
        let out = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output().unwrap();
        if !out.status.success() {
            eprintln!("SKIPPED: no loop device: {}", String::from_utf8_lossy(&out.stderr));
            return None;
        }
        Some(Self { path: String::from_utf8(out.stdout).unwrap().trim().into(), backing })
    }

    pub(crate) fn detach(&self) {
        let status = Command::new("losetup").arg("--detach").arg(&self.path).stderr(Stdio::null()).status();
        assert!(status.is_ok());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.detach();
    }
}
