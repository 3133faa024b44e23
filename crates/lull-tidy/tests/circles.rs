//! No circle of modules anywhere in the workspace.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};

use lull_tidy::circles;

/// The folder of all crates.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The roots of all crates of the workspace.
fn roots() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path().join("src"));
    entries.flat_map(|src| [src.join("lib.rs"), src.join("main.rs")]).filter(|root| root.exists()).collect()
}

#[test]
fn no_modules_take_names_from_each_other_in_a_circle() {
    let found: String =
        roots().iter().flat_map(|root| circles(root).unwrap()).map(|circle| circle.to_string()).collect();
    let found = found.replace(crates().to_str().unwrap(), "");
    assert!(
        found.is_empty(),
        "circles:\n{found}Move what both need into a module of its own that both import."
    );
}

/// A crate of these files, each a name and a text.
fn crate_of(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for (file, text) in files {
        let file = folder.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    folder.join("lib.rs")
}

fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let circles = circles(&crate_of(name, files)).unwrap();
    circles.into_iter().map(|circle| circle.modules.into_iter().collect()).collect()
}

#[test]
fn a_circle_is_found_through_what_hands_names_on_and_in_macros() {
    let found = circles_of(
        "found",
        &[
            ("lib.rs", "mod a; mod b; mod c; pub use a::A;"),
            ("a.rs", "pub struct A; fn f() { println!(\"{}\", crate::b::B); }"),
            ("b.rs", "use super::c; pub const B: u32 = 1; fn f(_: c::C) {}"),
            ("c.rs", "use crate::A; pub struct C(A);"),
        ],
    );
    assert_eq!(found, [["a", "b", "c"]]);
}

#[test]
fn what_is_below_a_module_counts_as_the_module() {
    let found = circles_of(
        "below",
        &[
            ("lib.rs", "mod a { pub mod x; mod y; } mod b;"),
            ("a/x.rs", "pub struct X;"),
            ("a/y.rs", "use crate::b::B; struct Y(B);"),
            ("b.rs", "use crate::a::x::X; pub struct B(X);"),
        ],
    );
    assert_eq!(found, [["a", "b"]]);
}

#[test]
fn handing_on_and_words_of_a_parent_make_no_circle() {
    let found = circles_of(
        "none",
        &[
            ("lib.rs", "mod a; pub use a::{A, B};"),
            ("a.rs", "mod b; pub use b::B; pub struct A; fn f(_: B) {}"),
            ("a/b.rs", "use super::A; use crate::B as Own; pub struct B; fn f(_: A, _: Own) {}"),
        ],
    );
    assert!(found.is_empty(), "{found:?}");
}
