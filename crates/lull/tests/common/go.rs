//! A sign that a job waits for, so that nothing depends on how fast a test is.

use std::os::unix::fs::PermissionsExt;

/// Not given at first. Every user can see it.
pub(crate) struct Go {
    dir: tempfile::TempDir,
}

impl Go {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Self { dir }
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.dir.path().join("go")
    }

    /// For a shell: `before` at once, `after` when the sign is given.
    pub(crate) fn script(&self, before: &str, after: &str) -> String {
        format!("{before}; until [ -e '{}' ]; do sleep 0.02; done; {after}", self.file().display())
    }

    pub(crate) fn give(&self) {
        std::fs::write(self.file(), "").unwrap();
    }

    pub(crate) fn take_back(&self) {
        std::fs::remove_file(self.file()).unwrap();
    }
}
