//! Single references: the queue of a descriptor, and that of a thread.

use super::super::fault::Fault;
use super::{Caller, Resource, State};

/// What gives a descriptor the queue of its process again.
pub(in super::super) const DEFAULT: &str = "default";

/// The kernel's number for a process, descriptor or thread.
fn signed(number: u32) -> Result<i32, Fault> {
    i32::try_from(number).map_err(|_| Fault::plain(libc::EINVAL))
}

impl State {
    /// Writes `fd/N`: switches a descriptor's queue.
    pub(super) fn tag(&mut self, caller: Caller, pid: u32, fd: u32, text: &str) -> Result<(), Fault> {
        let (pid, fd) = (signed(pid)?, signed(fd)?);
        let path = text.trim();
        if path == DEFAULT {
            let mut outcome =
                Err(Fault::new(libc::EOPNOTSUPP, "no resource here tells requests by descriptors"));
            for found in &mut self.resources {
                let untagged = found.enforcer.tag(None, pid, fd).map_err(Fault::from);
                outcome = outcome.or(untagged);
            }
            outcome?;
        } else {
            let (index, id) = self.resolve(path)?;
            self.may_use(caller, index, id)?;
            let queue = self.queue_at(index, id)?;
            let Resource { tree, enforcer } = self.resource_mut(index)?;
            enforcer.tag(Some(&tree.path(queue)), pid, fd)?;
        }
        self.collect();
        Ok(())
    }

    /// The queue of a descriptor; nothing where it is in none.
    pub(super) fn show_descriptor(&self, pid: u32, fd: u32) -> String {
        let (Ok(pid), Ok(fd)) = (signed(pid), signed(fd)) else { return String::new() };
        let mut all = self.resources.iter();
        let found =
            all.find_map(|found| Some((found.tree.name(), found.enforcer.queue_of_descriptor(pid, fd)?)));
        found.map_or_else(String::new, |(name, path)| self.mount.join(name).join(path).display().to_string())
    }

    /// Writes `task/TID`: moves one thread.
    pub(super) fn enter_thread(
        &mut self,
        caller: Caller,
        pid: u32,
        tid: u32,
        text: &str,
    ) -> Result<(), Fault> {
        let (pid, tid) = (signed(pid)?, signed(tid)?);
        let (index, id) = self.resolve(text.trim())?;
        self.may_use(caller, index, id)?;
        let queue = self.queue_at(index, id)?;
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        enforcer.enter_thread(&tree.path(queue), pid, tid)?;
        self.collect();
        Ok(())
    }

    /// The queue of a thread; nothing where it is in none.
    pub(super) fn show_thread(&self, tid: u32) -> String {
        let Ok(tid) = signed(tid) else { return String::new() };
        let mut all = self.resources.iter();
        let found = all.find_map(|found| Some((found.tree.name(), found.enforcer.queue_of_thread(tid)?)));
        found.map_or_else(String::new, |(name, path)| self.mount.join(name).join(path).display().to_string())
    }
}
