//! What is written for which terms, and into which files: a directory stands for the control groups of v2.

use std::fs;

use lull_core::reserve::Terms;

use super::*;

const GIB: u64 = 1 << 30;
const WHOLE: Whole = Whole { amount: 16 * GIB, unit: Unit::Bytes };

fn terms(text: &str) -> Terms {
    Terms::parse(text, WHOLE).unwrap()
}

fn of(plan: &[(String, &'static str, u64)], path: &str) -> (u64, u64) {
    let value = |file| plan.iter().find(|(of, name, _)| of == path && *name == file).unwrap().2;
    (value(MIN), value(LOW))
}

#[test]
fn minima_are_kept_and_weights_claim_the_rest() {
    let mut tree = Tree::new("mem", WHOLE, 0);
    let first = tree.create(ROOT, Kind::Internal, 0).unwrap();
    let second = tree.create(ROOT, Kind::Internal, 0).unwrap();
    tree.set(first, terms("4GiB 1")).unwrap();
    tree.set(second, terms("2GiB 1")).unwrap();
    let root = plan(&tree, ROOT);
    assert_eq!(of(&root, ""), (6 * GIB, 6 * GIB), "the rest of the machine keeps what nobody was promised");
    assert_eq!(of(&root, "r0"), (4 * GIB, 8 * GIB));
    assert_eq!(of(&root, "r1"), (2 * GIB, 8 * GIB));
    let queue = tree.create(first, Kind::Queue, 0).unwrap();
    tree.set(queue, terms("1GiB 1")).unwrap();
    assert_eq!(of(&plan(&tree, first), "r0/q0"), (GIB, 4 * GIB), "of what is above it");
    assert_eq!(of(&plan(&Tree::new("mem", WHOLE, 0), ROOT), ""), (0, 0));
}

#[test]
fn files_have_what_the_plan_says_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let groups = Groups::in_directory(dir.path(), "lull-1-2-3-4");
    let top = groups.directory(0, "");
    for path in ["", "r0", "r0/q0"] {
        fs::create_dir_all(top.join(path)).unwrap();
        for file in [MIN, LOW, MAX] {
            fs::write(top.join(path).join(file), "").unwrap();
        }
    }
    let mut memory = Unified::of(groups, 0, WHOLE);
    let mut tree = Tree::new("mem", WHOLE, 0);
    let reserved = tree.create(ROOT, Kind::Internal, 0).unwrap();
    let queue = tree.create(reserved, Kind::Queue, 0).unwrap();
    tree.set(reserved, terms("25% 0")).unwrap();
    memory.apply(&tree, ROOT).unwrap();
    memory.apply(&tree, reserved).unwrap();
    // The kernel's files have what was written last; these would keep the rest of what was longer.
    let read = |path: &str| {
        let text = fs::read_to_string(top.join(path)).unwrap();
        fs::write(top.join(path), "").unwrap();
        text
    };
    assert_eq!(read("memory.min"), (4 * GIB).to_string());
    assert_eq!(read("r0/memory.min"), (4 * GIB).to_string());
    assert_eq!(read("r0/q0/memory.low"), (4 * GIB).to_string(), "the only child");
    memory.bound("r0/q0", &Backlog::parse("max 1GiB", WHOLE).unwrap()).unwrap();
    assert_eq!(read("r0/q0/memory.max"), GIB.to_string());
    memory.bound("r0/q0", &Backlog::parse("max max", WHOLE).unwrap()).unwrap();
    assert_eq!(read("r0/q0/memory.max"), "max");
    let counted = memory.bound("r0/q0", &Backlog::parse("5 max", WHOLE).unwrap()).unwrap_err();
    assert_eq!(counted.kind(), io::ErrorKind::Unsupported);
    tree.set(reserved, terms("0% 0")).unwrap();
    memory.apply(&tree, ROOT).unwrap();
    assert_eq!((read("memory.min"), read("r0/memory.min")), ("0".to_owned(), "0".to_owned()));
    let _ = queue;
}
