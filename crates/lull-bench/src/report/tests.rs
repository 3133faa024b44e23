use super::*;
use crate::record::{FILE_NAME, Writer};

/// Two rounds of a fast case, two intensities of the slow disk, a quiet case and something unmet.
const FIXTURE: &str = include_str!("../../tests/data/raw.jsonl");

fn reported() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE_NAME), FIXTURE).unwrap();
    let mut text = Vec::new();
    write(dir.path(), &mut text).unwrap();
    (dir, String::from_utf8(text).unwrap())
}

#[test]
fn every_file_is_made_from_the_records_alone() {
    let (dir, text) = reported();
    for name in
        ["report.txt", "report.md", "study.json", "parallel.svg", "slow-10.svg", "slow-50.svg", "slow.svg"]
    {
        let content =
            std::fs::read_to_string(dir.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(content.len() > 200, "{name}");
    }
    assert!(!dir.path().join("quiet-tar.svg").exists());
    let study = Study::of(&record::read(dir.path()).unwrap());
    let saved = std::fs::read_to_string(dir.path().join("study.json")).unwrap();
    assert_eq!(saved, serde_json::to_string_pretty(&study).unwrap());
    assert_eq!(serde_json::from_str::<Study>(&saved).unwrap().cases.len(), 4);
    assert!(text.contains("picture: ") && text.contains("raw.jsonl"), "{text}");
}

#[test]
fn the_table_shows_medians_ranges_aims_and_gaps() {
    let (_dir, text) = reported();
    let lull = text.lines().find(|line| line.trim_start_matches(['│', ' ']).starts_with("lull ")).unwrap();
    assert!(lull.contains("0.980 [0.97-0.99]") && lull.contains("0.600 [0.55-0.65]"), "{lull}");
    assert!(text.contains("aim for lull: background / solo at least 0.5: 0.600, met"), "{text}");
    assert!(text.contains("aim for lull: foreground / alone at least 0.98: 0.980, met"), "{text}");
    assert!(text.contains("parallel, bfq: vda has no scheduler 'bfq'"), "{text}");
    let tar = text.split("quiet-tar").nth(1).unwrap();
    assert!(tar.contains("0.960 [0.96-0.96]") && !tar.contains("p99"), "{tar}");
}

#[test]
fn markdown_tables_have_as_many_cells_in_every_row() {
    let (dir, _) = reported();
    let text = std::fs::read_to_string(dir.path().join("report.md")).unwrap();
    let mut cells = 0;
    let mut rows = 0;
    for line in text.lines() {
        if line.starts_with('|') {
            let count = line.matches('|').count();
            assert!(cells == 0 || cells == count, "{line}");
            (cells, rows) = (count, rows + 1);
        } else {
            cells = 0;
        }
    }
    assert!(rows > 10, "{rows}");
}

#[test]
fn pictures_name_the_contenders() {
    let (dir, _) = reported();
    let svg = std::fs::read_to_string(dir.path().join("parallel.svg")).unwrap();
    for name in ["none", "lull", "background / solo"] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(svg.trim_end().ends_with("</svg>"));
}

#[test]
fn no_records_make_an_empty_report() {
    let dir = tempfile::tempdir().unwrap();
    Writer::open(dir.path()).unwrap();
    let mut text = Vec::new();
    write(dir.path(), &mut text).unwrap();
    assert!(dir.path().join("report.md").exists());
}
