#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use super::{DirtyBounds, DirtyGuard, SwapFile};
use crate::units::Bytes;

fn vm(ratios: [&str; 2], bytes: [&str; 2]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let names = ["dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes"];
    for (name, value) in names.iter().zip(ratios.iter().chain(&bytes)) {
        fs::write(dir.path().join(name), format!("{value}\n")).unwrap();
    }
    dir
}

fn value(vm: &Path, name: &str) -> String {
    fs::read_to_string(vm.join(name)).unwrap().trim().to_owned()
}

#[test]
fn whichever_bound_was_in_force_comes_back() {
    let by_ratio = vm(["30", "5"], ["0", "0"]);
    let guard = DirtyGuard::set(by_ratio.path(), DirtyBounds::Small { scale: 1 }).unwrap();
    assert_eq!(value(by_ratio.path(), "dirty_bytes"), (64 << 20).to_string());
    drop(guard);
    assert_eq!(value(by_ratio.path(), "dirty_ratio"), "30");
    assert_eq!(value(by_ratio.path(), "dirty_background_ratio"), "5");
    let by_bytes = vm(["0", "0"], ["104857600", "50000000"]);
    drop(DirtyGuard::set(by_bytes.path(), pinned(1)).unwrap());
    assert_eq!(value(by_bytes.path(), "dirty_bytes"), "104857600");
}

fn pinned(scale: u64) -> DirtyBounds {
    DirtyBounds::Pinned { scale, memory: Some(Bytes(16_000 << 20)) }
}

#[test]
fn bounds_follow_the_size_of_the_files() {
    let vm = vm(["20", "10"], ["0", "0"]);
    let guard = DirtyGuard::set(vm.path(), pinned(8)).unwrap();
    assert_eq!(value(vm.path(), "dirty_bytes"), (400 << 20).to_string());
    assert_eq!(value(vm.path(), "dirty_background_bytes"), (200 << 20).to_string());
    drop(guard);
    let _guard = DirtyGuard::set(vm.path(), DirtyBounds::Small { scale: 8 }).unwrap();
    assert_eq!(value(vm.path(), "dirty_background_bytes"), (2 << 20).to_string());
    // As they are where nothing is divided.
    let _guard = DirtyGuard::set(vm.path(), pinned(1)).unwrap();
    assert_eq!(value(vm.path(), "dirty_ratio"), "20");
}

#[test]
fn root_a_swap_file_is_used_and_goes() {
    let Ok(dir) = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")) else { return };
    let swap = match SwapFile::add(dir.path(), Bytes(16 << 20)) {
        Ok(swap) => swap,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let in_use = || fs::read_to_string("/proc/swaps").unwrap().contains(&*dir.path().to_string_lossy());
    assert!(in_use());
    // As a harness that was killed leaves it.
    std::mem::forget(swap);
    SwapFile::sweep(dir.path());
    assert!(!in_use() && fs::read_dir(dir.path()).unwrap().next().is_none());
}
