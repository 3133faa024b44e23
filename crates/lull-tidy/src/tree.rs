//! The modules of one crate, and where a path leads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::TidyError;
use crate::names::{self, Names};

/// A path through more `use` declarations than this leads nowhere.
const MOST_STEPS: u32 = 32;

/// The parent of a module, and its name there.
type Under<'a> = Option<(Id, &'a str)>;

/// A module's place in [`Crate::modules`].
pub(crate) type Id = usize;

/// A crate's modules, its root first.
pub(crate) struct Crate {
    pub(crate) modules: Vec<Module>,
}

pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// Such as `run::cpu`; empty for the root.
    pub(crate) path: String,
    parent: Option<Id>,
    pub(crate) names: Names,
    children: HashMap<String, Id>,
}

impl Crate {
    /// Reads the crate whose root is `file`.
    pub(crate) fn read(file: &Path) -> Result<Self, TidyError> {
        let mut this = Self { modules: Vec::new() };
        this.read_file(file, &file.with_file_name(""), None)?;
        Ok(this)
    }

    /// `folder` is where the files of its modules are.
    fn read_file(&mut self, file: &Path, folder: &Path, under: Under) -> Result<Id, TidyError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| TidyError::Read { file: file.to_owned(), source })?;
        let parsed =
            syn::parse_file(&text).map_err(|source| TidyError::Parse { file: file.to_owned(), source })?;
        self.add(file, folder, under, names::of(&parsed.items))
    }

    fn add(&mut self, file: &Path, folder: &Path, under: Under, mut names: Names) -> Result<Id, TidyError> {
        let id = self.modules.len();
        let inside = std::mem::take(&mut names.inside);
        let files = std::mem::take(&mut names.files);
        let path = match under {
            None => String::new(),
            Some((0, name)) => name.to_owned(),
            Some((parent, name)) => format!("{}::{name}", self.modules[parent].path),
        };
        let parent = under.map(|(parent, _)| parent);
        self.modules.push(Module { file: file.to_owned(), path, parent, names, children: HashMap::new() });
        for (name, names) in inside {
            let child = self.add(file, &folder.join(&name), Some((id, &name)), names)?;
            self.modules[id].children.insert(name, child);
        }
        for name in files {
            let below = folder.join(&name);
            let (beside, within) = (below.with_extension("rs"), below.join("mod.rs"));
            let child =
                self.read_file(if beside.exists() { &beside } else { &within }, &below, Some((id, &name)))?;
            self.modules[id].children.insert(name, child);
        }
        Ok(id)
    }

    /// The child of `parent` that is `id` or stands above it.
    pub(crate) fn child_over(&self, parent: Id, id: Id) -> Option<Id> {
        let mut above = std::iter::successors(Some(id), |id| self.modules[*id].parent);
        above.find(|id| self.modules[*id].parent == Some(parent))
    }

    /// The module that defines what `path` names when written in module `from`. `None`: another crate's, a
    /// variable's, or a module itself.
    pub(crate) fn definer(&self, from: Id, path: &[String]) -> Option<Id> {
        match self.lead(from, path, true, MOST_STEPS)? {
            Place::Item(id) => Some(id),
            Place::Module => None,
        }
    }

    /// Follows `path` from module `at`. Only `first` parts may be `crate` or `self`.
    fn lead(&self, at: Id, path: &[String], first: bool, steps: u32) -> Option<Place> {
        let steps = steps.checked_sub(1)?;
        let Some((name, rest)) = path.split_first() else { return Some(Place::Module) };
        let module = &self.modules[at];
        match name.as_str() {
            "crate" if first => return self.lead(0, rest, false, steps),
            "self" if first => return self.lead(at, rest, true, steps),
            "super" => return self.lead(module.parent?, rest, true, steps),
            name => {
                if let Some(child) = module.children.get(name) {
                    return self.lead(*child, rest, false, steps);
                }
            }
        }
        if module.names.items.contains(name) {
            return Some(Place::Item(at));
        }
        let through = |by: &[String], rest: &[String]| self.lead(at, &[by, rest].concat(), true, steps);
        let named = module.names.uses.iter().filter(|it| it.name == *name && it.path.first() != Some(name));
        let by_name = named.map(|it| &it.path).find_map(|by| through(by, rest));
        let all = module.names.uses.iter().filter(|it| it.name == "*" && it.path.first() != Some(name));
        by_name.or_else(|| all.map(|it| &it.path).find_map(|by| through(by, path)))
    }
}

enum Place {
    Item(Id),
    Module,
}
