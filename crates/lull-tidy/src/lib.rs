//! What the tree must keep to and no compiler checks: no circle of modules.
//!
//! One module *is tied* to another when it, or a module below it, takes a name that the other, or one below that, defines.
//! Modules that stand beside each other are in a *circle* if ties lead from each of them back to itself: none of them can
//! be understood, tested or moved without the others. What counts:
//!
//! - Where a name is defined. `use crate::Nanos` is a tie to the module of `Nanos`, not to `lib.rs`, which hands it on.
//! - A `pub use` is no tie of the module that hands on; its own use of the name is one.
//! - A module and those below it are one thing: what a child takes from its parent, and the parent from it, makes no
//!   circle. A parent may hold the words that its children share.
//! - Methods, and what macros make, are not seen. Tests may look at anything.
//!
//! There are no exceptions: `tests/circles.rs` holds the tree to it.

mod names;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use tree::{Crate, Id};

/// A source file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TidyError {
    /// Not there, or not text.
    #[error("{file}: {source}")]
    Read {
        /// Of the module that was declared.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not Rust.
    #[error("{file}: {source}")]
    Parse {
        /// Of the module that was declared.
        file: PathBuf,
        /// Where, and what was expected.
        source: syn::Error,
    },
}

/// Modules beside each other that are tied in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circle {
    /// Their paths below the crate's root, such as `run::cpu`, sorted.
    pub modules: BTreeSet<String>,
    /// What ties them.
    pub ties: Vec<Tie>,
}

/// What one file takes from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tie {
    /// The file that takes.
    pub from: PathBuf,
    /// The file that defines.
    pub to: PathBuf,
    /// What is taken.
    pub names: BTreeSet<String>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", joined(&self.modules))?;
        self.ties.iter().try_for_each(|Tie { from, to, names }| {
            writeln!(f, "    {} -> {}: {}", from.display(), to.display(), joined(names))
        })
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The circles in the crate whose root is `root`, such as `src/lib.rs`.
pub fn circles(root: &Path) -> Result<Vec<Circle>, TidyError> {
    let it = Crate::read(root)?;
    let taken = taken(&it);
    let mut found = Vec::new();
    for parent in 0..it.modules.len() {
        let mut ties: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
        for &(from, to) in taken.keys() {
            if let (Some(from), Some(to)) = (it.child_over(parent, from), it.child_over(parent, to))
                && from != to
            {
                ties.entry(from).or_default().insert(to);
            }
        }
        found.extend(circles_of(&ties).iter().map(|circle| drawn(&it, parent, circle, &taken)));
    }
    Ok(found)
}

/// The names that one module takes from another, without what is below either.
type Taken = BTreeMap<(Id, Id), BTreeSet<String>>;

fn taken(it: &Crate) -> Taken {
    let mut taken = Taken::new();
    for (id, module) in it.modules.iter().enumerate() {
        let used = module.names.uses.iter().filter(|it| !it.handed_on).map(|it| &it.path);
        for path in used.chain(&module.names.paths) {
            if let Some(definer) = it.definer(id, path) {
                taken.entry((id, definer)).or_default().extend(path.last().cloned());
            }
        }
    }
    taken
}

fn circles_of(ties: &BTreeMap<Id, BTreeSet<Id>>) -> BTreeSet<BTreeSet<Id>> {
    let reached: BTreeMap<Id, BTreeSet<Id>> =
        ties.keys().map(|module| (*module, reached_from(*module, ties))).collect();
    let circle = |module: &Id| -> BTreeSet<Id> {
        let back = |to: &Id| reached.get(to).is_some_and(|reached| reached.contains(module));
        reached[module].iter().copied().filter(back).collect()
    };
    ties.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

fn reached_from(module: Id, ties: &BTreeMap<Id, BTreeSet<Id>>) -> BTreeSet<Id> {
    let mut seen = BTreeSet::new();
    let mut next = vec![module];
    while let Some(at) = next.pop() {
        next.extend(ties.get(&at).into_iter().flatten().copied().filter(|to| seen.insert(*to)));
    }
    seen
}

fn drawn(it: &Crate, parent: Id, circle: &BTreeSet<Id>, taken: &Taken) -> Circle {
    let inside = |id: Id| it.child_over(parent, id).filter(|child| circle.contains(child));
    let ties = taken
        .iter()
        .filter(|((from, to), _)| inside(*from).is_some_and(|from| inside(*to).is_some_and(|to| from != to)));
    Circle {
        modules: circle.iter().map(|id| it.modules[*id].path.clone()).collect(),
        ties: ties
            .map(|(&(from, to), names)| Tie {
                from: it.modules[from].file.clone(),
                to: it.modules[to].file.clone(),
                names: names.clone(),
            })
            .collect(),
    }
}
