#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::MetadataExt;

use super::{Area, areas, device};
use crate::root::Root;

const HEAD: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

/// The device under which swap lies on a host with these areas; files are made.
fn of(lines: &str, zswap: &str) -> (Option<u64>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/swaps", &format!("{HEAD}{lines}"));
    write("sys/module/zswap/parameters/enabled", zswap);
    for name in ["swap.dat", "other.dat", "dev/zram0"] {
        write(name, "");
    }
    let found = device(&Root::at(dir.path())).map(|dev| libc::makedev(dev.major, dev.minor));
    (found, dir.path().metadata().unwrap().dev())
}

#[test]
fn areas_are_read_with_their_priority() {
    let text = format!("{HEAD}/my\\040swap  file\t\t1048572\t\t0\t\t-2\n/dev/vdb partition 8 0 5\n");
    let area = |path: &str, is_file, priority| Area { path: path.to_owned(), is_file, priority };
    assert_eq!(areas(&text), [area("/my swap", true, -2), area("/dev/vdb", false, 5)]);
    assert_eq!(areas(HEAD), []);
}

#[test]
fn the_disk_of_the_first_area_is_where_pages_go() {
    let (found, disk) = of("/swap.dat file 100 0 -2\n", "N\n");
    assert_eq!(found, Some(disk));
    let (found, disk) = of("/swap.dat file 100 0 5\n/dev/zram0 partition 100 0 -2\n", "N\n");
    assert_eq!(found, Some(disk), "used when the first is full");
    let (found, disk) = of("/swap.dat file 100 0 5\n/other.dat file 100 0 5\n", "N\n");
    assert_eq!(found, Some(disk));
}

#[test]
fn pages_that_stay_in_memory_go_nowhere() {
    for (lines, zswap) in [
        ("", "N\n"),
        ("/swap.dat file 100 0 -2\n", "Y\n"),
        ("/dev/zram0 partition 100 0 100\n/swap.dat file 100 0 -2\n", "N\n"),
        ("/dev/zram0 partition 100 0 5\n/swap.dat file 100 0 5\n", "N\n"),
        ("/gone.dat file 100 0 5\n", "N\n"),
    ] {
        assert_eq!(of(lines, zswap).0, None, "{lines}, {zswap}");
    }
}
