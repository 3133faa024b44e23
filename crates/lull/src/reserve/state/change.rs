//! Changes of the tree: in the tree first, then in the kernel; where that refuses, the tree is put back.

use lull_core::reserve::{Backlog, Id, Kind, ROOT, Terms, Tree, Unit, Whole};
use lull_linux::reserve::Enforcer;

use super::super::fault::Fault;
use super::super::files::Node;
use super::{Caller, Resource, SUPERUSER, State};

/// What was written to a `backlog` or `input`. What waits for a rate is bytes.
fn parsed(text: &str, tree: &Tree) -> Result<Backlog, Fault> {
    let whole = match tree.whole() {
        Whole { unit: Unit::Rate, amount } => Whole { unit: Unit::Bytes, amount },
        other => other,
    };
    Backlog::parse(text, whole).map_err(|error| Fault::new(libc::EINVAL, error.to_string()))
}

impl State {
    pub(super) fn create(&mut self, caller: Caller, index: u8, parent: Id, kind: Kind) -> Result<Id, Fault> {
        self.may_use(caller, index, parent)?;
        let id = self.resource_mut(index)?.tree.create(parent, kind, caller.user)?;
        self.make(index, parent, id)
    }

    /// Makes in the kernel what is in the tree already.
    pub(super) fn make(&mut self, index: u8, parent: Id, id: Id) -> Result<Id, Fault> {
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        let made = enforcer.make(tree, id).and_then(|()| enforcer.apply(tree, parent));
        if let Err(error) = made {
            // What is half made goes; it was never seen.
            let _ = enforcer.remove(tree, id);
            tree.remove(id)?;
            return Err(error.into());
        }
        Ok(id)
    }

    /// `mkdir`: a reservation of a certain name that stays without a reference.
    pub(in super::super) fn make_dir(
        &mut self,
        caller: Caller,
        node: Node,
        name: &str,
    ) -> Result<Node, Fault> {
        let Node::Dir(index, parent) = node else {
            return Err(Fault::new(libc::EPERM, "reservations are made in the directory of a resource"));
        };
        self.may_use(caller, index, parent)?;
        if caller.user != SUPERUSER {
            let why =
                "only root may make a reservation that stays: open newreserv or newqueue, and keep it open";
            return Err(Fault::new(libc::EPERM, why));
        }
        let id = self.resource_mut(index)?.tree.create_named(parent, name, caller.user)?;
        let id = self.make(index, parent, id)?;
        self.resource_mut(index)?.tree.set_collect(id, false)?;
        Ok(Node::Dir(index, id))
    }

    /// `rmdir`.
    pub(in super::super) fn remove_dir(
        &mut self,
        caller: Caller,
        parent: Node,
        name: &str,
    ) -> Result<(), Fault> {
        let Some(Node::Dir(index, id)) = self.lookup(parent, name) else {
            return Err(Fault::plain(libc::ENOENT));
        };
        self.may_use(caller, index, id)?;
        let Resource { tree, enforcer } = self.resource(index)?;
        let found = tree.get(id).ok_or(Fault::plain(libc::ENOENT))?;
        let path = tree.path(id);
        if !found.children.is_empty() {
            return Err(Fault::plain(libc::ENOTEMPTY));
        }
        if found.references > 0 || enforcer.is_used(&path) {
            return Err(Fault::new(libc::EBUSY, format!("{} is in use", tree.full_path(id))));
        }
        self.remove(index, id)
    }

    fn remove(&mut self, index: u8, id: Id) -> Result<(), Fault> {
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        let parent = tree.get(id).and_then(|found| found.parent).ok_or(Fault::plain(libc::EPERM))?;
        enforcer.remove(tree, id)?;
        tree.remove(id)?;
        Ok(enforcer.apply(tree, parent)?)
    }

    /// `chown`.
    pub(in super::super) fn give(&mut self, caller: Caller, node: Node, user: u32) -> Result<(), Fault> {
        let Some((index, id)) = node.reservation().filter(|(_, id)| *id != ROOT) else {
            return Err(Fault::plain(libc::EPERM));
        };
        if caller.user != SUPERUSER {
            return Err(Fault::plain(libc::EPERM));
        }
        Ok(self.resource_mut(index)?.tree.give(id, user)?)
    }

    pub(super) fn set(&mut self, index: u8, id: Id, terms: Terms) -> Result<(), Fault> {
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        let found = tree.get(id).ok_or(Fault::plain(libc::ENOENT))?;
        let (before, parent) = (found.terms, found.parent);
        let path = tree.full_path(id);
        let told = |fault: Fault| Fault { why: format!("share of {path}: {}", fault.why), ..fault };
        tree.set(id, terms).map_err(|refusal| told(refusal.into()))?;
        // Its children's weights depend on whether it has a minimum.
        let apply = |tree: &Tree, enforcer: &mut Box<dyn Enforcer>| {
            parent
                .map_or(Ok(()), |parent| enforcer.apply(tree, parent))
                .and_then(|()| enforcer.apply(tree, id))
        };
        if let Err(error) = apply(tree, enforcer) {
            tree.set(id, before)?;
            // As it was a moment ago, which the kernel had accepted.
            let _ = apply(tree, enforcer);
            return Err(told(error.into()));
        }
        Ok(())
    }

    /// A write to `backlog`.
    pub(super) fn bound(&mut self, index: u8, id: Id, text: &str) -> Result<(), Fault> {
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        let backlog = parsed(text, tree)?;
        enforcer.bound(&tree.path(id), &backlog)?;
        Ok(tree.set_backlog(id, backlog)?)
    }

    /// A write to `input`.
    pub(super) fn bound_input(&mut self, index: u8, id: Id, text: &str) -> Result<(), Fault> {
        let Resource { tree, enforcer } = self.resource_mut(index)?;
        let most = parsed(text, tree)?;
        enforcer.bound_input(&tree.path(id), &most)?;
        Ok(tree.set_input(id, most)?)
    }

    /// Removes what has no reference any more. Whether something may go later without being asked about.
    pub(in super::super) fn collect(&mut self) -> bool {
        for pid in self.domains.ended() {
            self.forget_children(pid);
        }
        let mut waits = false;
        for index in self.indices() {
            // A parent may go once its last child has.
            let mut removed = 1;
            while removed > 0 {
                let Ok(Resource { tree, enforcer }) = self.resource(index) else { break };
                let (used, unused): (Vec<_>, Vec<_>) =
                    tree.collectable().partition(|id| enforcer.is_used(&tree.path(*id)));
                removed = unused.iter().filter(|id| self.remove(index, **id).is_ok()).count();
                waits |= !used.is_empty() || unused.len() > removed;
            }
        }
        waits || !self.domains.is_empty()
    }
}
