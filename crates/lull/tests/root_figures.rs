//! `lull bench memory --figures`: a tiny run draws every figure of the Linger paper and leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::small::{MIB, Small};
use common::{lull, output};

/// A line of a CSV file, by the names in its first line.
fn rows(text: &str) -> Vec<std::collections::HashMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect()
}

#[test]
fn root_every_figure_of_the_linger_paper_is_drawn() {
    // Only whether there can be such a machine.
    let Some(small) = Small::machine(96 * MIB) else { return };
    drop(small);
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let out = place.path().join("out");
    let mut command = lull();
    // Half the sizes; what gets no processor time beside other work is given up after some seconds.
    let words =
        "bench memory --figures --rounds 1 --scale 2 --work 0.5 --patience 4 --span 2 --factors 1,50 --clean";
    command.args(words.split(' ')).args(["--lull-args", "--resources memory"]);
    let done = output(command.arg("--dir").arg(place.path()).arg("--out").arg(&out));
    let log = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{log}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap_or_default();
    let page = read("linger.md");
    assert_eq!(page, String::from_utf8_lossy(&done.stdout));
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap();
    assert!(!swaps.contains(&*place.path().to_string_lossy()), "{swaps}");
    assert!(!place.path().join("lull-bench-data").exists(), "the swap file is still there");
    if page.contains("tables 2 and 3:") {
        eprintln!("SKIPPED: {page}");
        return;
    }

    let missing = |what: &str| page.lines().any(|line| line.starts_with("- ") && line.contains(what));
    let tables = read("tables.csv");
    let tables = rows(&tables);
    for name in [
        "serial",
        "together-equal",
        "host-first-nice",
        "guest-first-nice",
        "host-first-lull",
        "guest-first-lull",
    ] {
        let row = tables.iter().find(|row| row["row"] == name);
        assert!(row.is_some() != missing(name), "{name}: {page}");
        let Some(row) = row else { continue };
        let seconds = |field: &str| row[field].parse::<f64>().ok();
        if let (true, Some(guest)) = (name == "serial", seconds("guest_s")) {
            assert!(seconds("host_s").is_some_and(|host| host < guest), "{row:?}");
        }
        assert!(seconds("host_took_s").is_none_or(|took| took <= seconds("host_s").unwrap()), "{row:?}");
    }
    let over_time = read("fig4.csv");
    let over_time = rows(&over_time);
    for control in ["lull", "nice"] {
        let samples: Vec<_> = over_time.iter().filter(|row| row["control"] == control).collect();
        assert!(samples.is_empty() == missing(&format!("figure 4, {control}")), "{control}: {page}");
        let most =
            |field: &str| samples.iter().map(|row| row[field].parse::<u64>().unwrap()).max().unwrap_or(0);
        // A load has a little beside its set.
        let beside = 8 * MIB;
        assert!(most("guest_bytes") <= 64 * MIB + beside, "{control}: {}", most("guest_bytes"));
        assert!(most("host_bytes") <= 75 * MIB + beside, "{control}: {}", most("host_bytes"));
        assert!(samples.is_empty() || most("guest_bytes") > 16 * MIB, "{control}: the guest was not seen");
    }
    let batches = read("fig5.csv");
    let batches = rows(&batches);
    for point in ["alone", "nice", "1", "50", "lull"] {
        let measured = batches.iter().filter(|row| row["point"] == point).count();
        let left_out = missing(&format!("figure 5 {point} "));
        assert_eq!(measured, usize::from(!left_out), "{point}: {page}");
    }
    for heading in ["## Table 2", "## Table 3", "## Figure 4", "## Figure 5"] {
        assert!(page.contains(heading), "{heading}: {page}");
    }
    for (picture, word) in [("tables.svg", "host first"), ("fig4.svg", "guest under"), ("fig5.svg", "paper")]
    {
        assert!(read(picture).contains(word), "{picture}");
    }
}
