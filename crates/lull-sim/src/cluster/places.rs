//! Which nodes have no guest: taken at random, put in and taken out in constant time.

use crate::span::Random;

/// Nodes without a guest, those of owners who are away and those in use.
#[derive(Clone, Debug)]
pub(super) struct Places {
    lists: [Vec<u32>; 2],
    /// For each node, in which list it is and where there.
    at: Vec<Option<(bool, usize)>>,
}

impl Places {
    pub(super) fn new(nodes: usize) -> Self {
        Self { lists: [Vec::new(), Vec::new()], at: vec![None; nodes] }
    }

    pub(super) fn put(&mut self, node: u32, in_use: bool) {
        self.remove(node);
        let list = &mut self.lists[usize::from(in_use)];
        self.at[node as usize] = Some((in_use, list.len()));
        list.push(node);
    }

    pub(super) fn remove(&mut self, node: u32) {
        let Some((in_use, at)) = self.at[node as usize].take() else { return };
        let list = &mut self.lists[usize::from(in_use)];
        list.swap_remove(at);
        if let Some(moved) = list.get(at) {
            self.at[*moved as usize] = Some((in_use, at));
        }
    }

    /// One of those in use, or not, taken out.
    pub(super) fn take(&mut self, in_use: bool, random: &mut Random) -> Option<u32> {
        let list = &self.lists[usize::from(in_use)];
        let node = *list.get(random.index(list.len()))?;
        self.remove(node);
        Some(node)
    }
}
