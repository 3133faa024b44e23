//! What a source file names: its `use` declarations and every path in its code, also inside macros.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

/// `a::b::c` as its parts.
pub(crate) type Path = Vec<String>;

/// One leaf of a `use` declaration.
pub(crate) struct Use {
    /// The name it has from then on; `*` for all of a module.
    pub(crate) name: String,
    pub(crate) path: Path,
    /// Handed on (`pub use`) and not for this file.
    pub(crate) handed_on: bool,
}

/// What one module names and defines. A file with modules inside is several.
#[derive(Default)]
pub(crate) struct Names {
    /// Its structs, functions, constants and so on.
    pub(crate) items: Vec<String>,
    pub(crate) uses: Vec<Use>,
    /// Paths of two parts and more; a name alone came by a `use`, or is the file's own.
    pub(crate) paths: Vec<Path>,
    /// `mod x;`
    pub(crate) files: Vec<String>,
    /// `mod x { … }`
    pub(crate) inside: Vec<(String, Names)>,
}

/// Reads the items of a file or of a module inside one. Tests are passed over: they may look at anything.
pub(crate) fn of(items: &[syn::Item]) -> Names {
    let mut names = Names::default();
    for item in items.iter().filter(|item| !for_tests(item)) {
        match item {
            syn::Item::Mod(module) => match &module.content {
                Some((_, items)) => names.inside.push((module.ident.to_string(), of(items))),
                None => names.files.push(module.ident.to_string()),
            },
            syn::Item::Use(declaration) => names.add(declaration),
            other => {
                names.items.extend(defined(other));
                names.visit_item(other);
            }
        }
    }
    names
}

impl Names {
    fn add(&mut self, declaration: &syn::ItemUse) {
        let handed_on = !matches!(declaration.vis, syn::Visibility::Inherited);
        leaves(&declaration.tree, &mut Vec::new(), &mut |name, path| {
            self.uses.push(Use { name, path, handed_on });
        });
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        paths_in(called.tokens.clone(), &mut self.paths);
    }

    /// In a function's body.
    fn visit_item_use(&mut self, declaration: &'ast syn::ItemUse) {
        self.add(declaration);
    }
}

fn leaves(tree: &syn::UseTree, before: &mut Path, found: &mut impl FnMut(String, Path)) {
    let with = |last: &syn::Ident| [before.as_slice(), &[last.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            leaves(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, found)),
        syn::UseTree::Glob(_) => found("*".to_owned(), before.clone()),
        syn::UseTree::Name(name) if name.ident == "self" => {
            found(before.last().cloned().unwrap_or_default(), before.clone());
        }
        syn::UseTree::Name(name) => found(name.ident.to_string(), with(&name.ident)),
        syn::UseTree::Rename(name) if name.ident == "self" => found(name.rename.to_string(), before.clone()),
        syn::UseTree::Rename(name) => found(name.rename.to_string(), with(&name.ident)),
    }
}

/// Every `a::b` in the tokens of a macro, which no parser knows.
fn paths_in(tokens: TokenStream, found: &mut Vec<Path>) {
    let mut path = Path::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            TokenTree::Ident(name) if colons == 2 => {
                path.push(name.to_string());
                colons = 0;
            }
            other => {
                found.push(std::mem::take(&mut path));
                colons = 0;
                match other {
                    TokenTree::Ident(name) => path.push(name.to_string()),
                    TokenTree::Group(group) => paths_in(group.stream(), found),
                    _ => {}
                }
            }
        }
    }
    found.push(path);
}

fn defined(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

fn for_tests(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string().contains("test"))
    })
}
