//! Who gets what while some are busy (R-6).
//!
//! The paper divides a parent's amount among its busy children by weight: `v = φ / Σφ of the busy × v of the parent`. That alone would give
//! a child with a large minimum and a small weight less than its minimum. So nobody busy gets less than its minimum; the rest is divided
//! by weight among the others. Where no minimum is larger than what the weight gives, this is the paper's formula.
//!
//! ```text
//!   v_i = max(m_i, λ φ_i)      with λ such that  Σ v_i = v of the parent
//! ```
//!
//! The child whose minimum is largest for its weight is the first that λ does not serve, so one pass in that order finds λ.
//! If no busy child has a weight, they share equally what the minima leave.
//!
//! Control groups know weights only, which count among whoever is busy. [`Tree::standing`] gives weights that hold for every set of busy
//! siblings: what each would have if all were busy. If some are idle the others get more, never less.
//!
//! Units: the resource's smallest. Results are rounded down.

use std::collections::{BTreeMap, BTreeSet};

use super::{Id, ROOT, Terms, Tree};

/// How much finer standing weights are than amounts.
const FINER_BITS: u32 = 20;

/// Divides `amount` among children with these terms, whose minima it covers.
pub fn divide(amount: u64, terms: &[Terms]) -> Vec<u64> {
    let weights: u64 = terms.iter().map(|one| u64::from(one.weight)).sum();
    let weight = |index: usize| if weights == 0 { 1 } else { u64::from(terms[index].weight) };
    let mut order: Vec<usize> = (0..terms.len()).collect();
    // The largest minimum for its weight first; a weight of nothing before all.
    order.sort_by(|&a, &b| {
        let (of_a, of_b) = (u128::from(terms[a].minimum), u128::from(terms[b].minimum));
        let by_ratio = (of_b * u128::from(weight(a))).cmp(&(of_a * u128::from(weight(b))));
        (weight(a) > 0).cmp(&(weight(b) > 0)).then(by_ratio)
    });
    let mut given = vec![0; terms.len()];
    let mut left = amount;
    let mut heft: u64 = (0..terms.len()).map(weight).sum();
    for index in order {
        let by_weight = u128::from(left) * u128::from(weight(index)) / u128::from(heft.max(1));
        let by_weight = u64::try_from(by_weight).unwrap_or(left);
        given[index] = by_weight.max(terms[index].minimum).min(left);
        // Once the weight decides it does so for all that follow, and λ stays what it is.
        left -= given[index];
        heft -= weight(index);
    }
    given
}

impl Tree {
    /// What each reservation gets now, if these queues are busy: the amounts in the order of [`Tree::iter`].
    pub fn apportion(&self, is_busy: impl Fn(Id) -> bool) -> Vec<(Id, u64)> {
        let mut busy: BTreeSet<Id> = BTreeSet::new();
        for (id, found) in self.iter() {
            if found.children.is_empty() && is_busy(id) {
                busy.extend(self.upwards(id));
            }
        }
        let mut given: BTreeMap<Id, u64> = self.iter().map(|(id, _)| (id, 0)).collect();
        if busy.contains(&ROOT) {
            given.insert(ROOT, self.whole().amount);
        }
        // A parent comes before its children.
        for (id, found) in self.iter().filter(|(id, _)| busy.contains(id)) {
            let children: Vec<Id> = found.children.iter().copied().filter(|id| busy.contains(id)).collect();
            let amount = given.get(&id).copied().unwrap_or(0);
            let terms: Vec<Terms> =
                children.iter().filter_map(|child| self.get(*child)).map(|child| child.terms).collect();
            given.extend(children.into_iter().zip(divide(amount, &terms)));
        }
        given.into_iter().collect()
    }

    /// Weights for the children of a parent that hold whoever of them is busy: in the proportion of what each would get of the parent's
    /// minimum if all were (of the whole, if the parent has none).
    pub fn standing(&self, parent: Id) -> Vec<(Id, u64)> {
        let Some(found) = self.get(parent) else { return Vec::new() };
        let amount = if found.terms.minimum == 0 { self.whole().amount } else { found.terms.minimum };
        // Finer than the unit, so that who has the same terms gets the same weight, whatever the rest of a division.
        let fine = amount.leading_zeros().saturating_sub(1).min(FINER_BITS);
        let terms = found.children.iter().filter_map(|child| self.get(*child)).map(|child| child.terms);
        let terms: Vec<Terms> = terms.map(|one| Terms { minimum: one.minimum << fine, ..one }).collect();
        found.children.iter().copied().zip(divide(amount << fine, &terms)).collect()
    }
}
