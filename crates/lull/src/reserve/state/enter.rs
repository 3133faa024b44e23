//! Processes in reservations: where they are, where their children go, and moving them.

use lull_core::reserve::domain::listed;
use lull_core::reserve::{DEFAULT_QUEUE, Id, Kind, ROOT, Terms};

use super::super::domains::user_of;
use super::super::fault::Fault;
use super::{Caller, Resource, SUPERUSER, State, USUAL_WEIGHT};

impl State {
    /// A reservation by its path: absolute, or from the mount on.
    pub(super) fn resolve(&self, path: &str) -> Result<(u8, Id), Fault> {
        let missing = || Fault::new(libc::ENOENT, format!("there is no reservation '{path}'"));
        let mount = self.mount.display().to_string();
        let mut all = listed(path, &mount);
        let ((name, rest), None) = (all.next().ok_or_else(missing)?, all.next()) else {
            return Err(missing());
        };
        let mut resources = self.indices().zip(&self.resources);
        let found = resources.find(|(_, found)| found.tree.name() == name);
        found.and_then(|(index, found)| Some((index, found.tree.find(rest)?))).ok_or_else(missing)
    }

    /// The reservations of a list, one for each resource at most.
    fn resolve_all(&self, text: &str) -> Result<Vec<(u8, Id)>, Fault> {
        let mut all: Vec<(u8, Id)> = Vec::new();
        for path in text.split_whitespace() {
            let (index, id) = self.resolve(path)?;
            if all.iter().any(|(other, _)| *other == index) {
                return Err(Fault::new(
                    libc::EINVAL,
                    format!("'{path}' is the second reservation of its resource"),
                ));
            }
            all.push((index, id));
        }
        if all.is_empty() {
            return Err(Fault::new(libc::EINVAL, "no reservation is named"));
        }
        Ok(all)
    }

    /// One root reservation per resource, as the paper writes them.
    pub(super) fn show_domain(&self, pid: u32, of_children: bool) -> String {
        let set = self.domains.of(pid.cast_signed()).filter(|_| of_children);
        let root = |index: u8| {
            let set = set.and_then(|found| found.roots.iter().find(|(of, _)| *of == index));
            set.map_or_else(|| self.root_of(index, pid), |(_, id)| *id)
        };
        let all: Vec<_> = self.indices().map(|index| self.shown(index, root(index))).collect();
        all.join(" ")
    }

    /// Whether somebody may say where a process or its children go.
    pub(super) fn may_move(&self, caller: Caller, pid: u32) -> Result<(), Fault> {
        let owner = user_of(pid).ok_or(Fault::plain(libc::ESRCH))?;
        if caller.user == SUPERUSER || caller.user == owner {
            return Ok(());
        }
        let why = format!("process {pid} belongs to user {owner}, not to user {}", caller.user);
        Err(Fault::new(libc::EACCES, why))
    }

    /// Writes `crdom`.
    pub(super) fn set_children(&mut self, caller: Caller, pid: u32, text: &str) -> Result<(), Fault> {
        let mut roots =
            self.domains.of(pid.cast_signed()).map(|found| found.roots.clone()).unwrap_or_default();
        for (index, id) in self.resolve_all(text)? {
            let Resource { tree, .. } = self.resource(index)?;
            if tree.get(id).is_none_or(|found| found.kind != Kind::Internal) {
                let why = format!("{} is a queue: a domain is an internal reservation", tree.full_path(id));
                return Err(Fault::new(libc::EINVAL, why));
            }
            let rights = self.rights(Caller { pid, ..caller }, index)?;
            tree.may_use(rights, id)?;
            roots.retain(|(of, _)| *of != index);
            if id != self.root_of(index, pid) {
                roots.push((index, id));
            }
        }
        if !roots.is_empty() {
            (self.listen)().map_err(|error| {
                let why = format!("forks cannot be watched here ({error}), so children cannot be moved");
                Fault::new(libc::EOPNOTSUPP, why)
            })?;
        }
        self.put_children(pid.cast_signed(), roots);
        Ok(())
    }

    /// Sets what a process's children get, and keeps count of the references.
    fn put_children(&mut self, pid: i32, roots: Vec<(u8, Id)>) {
        for (index, id) in &roots {
            if let Ok(found) = self.resource_mut(*index) {
                found.tree.refer(*id);
            }
        }
        for (index, id) in self.domains.set(pid, roots) {
            if let Ok(found) = self.resource_mut(index) {
                found.tree.forget(id);
            }
        }
    }

    pub(super) fn forget_children(&mut self, pid: i32) {
        self.put_children(pid, Vec::new());
    }

    /// A process has ended.
    pub(in super::super) fn ended(&mut self, pid: i32) {
        if self.domains.knows(pid) {
            self.forget_children(pid);
            self.collect();
        }
    }

    /// A process was started: its domain is what its parent's children get.
    pub(in super::super) fn forked(&mut self, parent: i32, child: i32) {
        let Some(roots) = self.domains.of(parent).map(|found| found.roots.clone()) else { return };
        for (index, id) in &roots {
            if let Err(fault) = self.move_to(*index, *id, child) {
                // It may have ended already.
                if user_of(child.cast_unsigned()).is_some() {
                    self.note(&format!("process {child}: cannot follow its parent's crdom: {}", fault.why));
                }
            }
        }
        // What it starts before it was moved is to follow, too.
        self.put_children(child, roots);
    }

    /// Forks that were not told.
    pub(in super::super) fn catch_up(&mut self) {
        loop {
            let missed = self.domains.missed();
            if missed.is_empty() {
                return;
            }
            for (parent, child) in missed {
                self.forked(parent, child);
            }
        }
    }

    /// Writes `enter`: moves a process.
    pub(super) fn enter(&mut self, caller: Caller, pid: u32, text: &str) -> Result<(), Fault> {
        let all = self.resolve_all(text)?;
        for (index, id) in &all {
            self.may_use(caller, *index, *id)?;
            self.may_use_beside(caller, *index, *id)?;
        }
        for (index, id) in all {
            self.move_to(index, id, pid.cast_signed())?;
        }
        self.collect();
        Ok(())
    }

    /// Whether somebody may use what has the same group as this reservation, where another resource has.
    fn may_use_beside(&self, caller: Caller, index: u8, id: Id) -> Result<(), Fault> {
        let Resource { tree, enforcer } = self.resource(index)?;
        let mut path = tree.path(id);
        if tree.get(id).is_some_and(|found| found.kind == Kind::Internal) {
            path = format!("{path}/{DEFAULT_QUEUE}");
        }
        let beside = self.indices().filter(|other| *other != index && enforcer.shares_groups());
        for other in beside {
            let found = self.resource(other)?;
            if let Some(id) = found.tree.find(&path).filter(|_| found.enforcer.shares_groups()) {
                self.may_use(caller, other, id)?;
            }
        }
        Ok(())
    }

    /// A queue, or the default queue of an internal reservation, which is made if need be.
    pub(super) fn queue_at(&mut self, index: u8, id: Id) -> Result<Id, Fault> {
        let Resource { tree, .. } = self.resource(index)?;
        let found = tree.get(id).ok_or(Fault::plain(libc::ENOENT))?;
        match (found.kind, tree.child(id, DEFAULT_QUEUE)) {
            (Kind::Queue, _) => Ok(id),
            (Kind::Internal, Some(queue)) => Ok(queue),
            (Kind::Internal, None) => {
                let owner = found.owner;
                let queue = self.resource_mut(index)?.tree.create_named(id, DEFAULT_QUEUE, owner)?;
                let queue = self.make(index, id, queue)?;
                self.set(index, queue, Terms { minimum: 0, weight: USUAL_WEIGHT })?;
                Ok(queue)
            }
        }
    }

    /// Moves a process to a queue, or to the default queue of an internal reservation.
    fn move_to(&mut self, index: u8, id: Id, pid: i32) -> Result<(), Fault> {
        let queue = self.queue_at(index, id)?;
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        debug_assert!(queue != ROOT);
        Ok(enforcer.enter(&tree.path(queue), pid)?)
    }
}
