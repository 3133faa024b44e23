use super::*;
use crate::load::net::probe::Probed;
use crate::record::{FILE_NAME, Record, Writer};
use crate::study::aims::{Aim, Tally};
use crate::study::cpu::{Coverage, CpuFigures};
use crate::study::{CaseStudy, Row};

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
    let read = |text: &str| serde_json::from_str::<Study>(text).unwrap();
    assert_eq!(read(&saved), read(&serde_json::to_string(&study).unwrap()));
    assert_eq!(study.cases.len(), 4);
    assert!(text.contains("picture: ") && text.contains("raw.jsonl"), "{text}");
}

#[test]
fn the_table_shows_medians_ranges_aims_and_gaps() {
    let (_dir, text) = reported();
    let lull = text.lines().find(|line| line.trim_start_matches(['│', ' ']).starts_with("lull ")).unwrap();
    assert!(lull.contains("0.980 [0.97-0.99]") && lull.contains("0.600 [0.55-0.65]"), "{lull}");
    assert!(text.contains("aim for lull, met: background / solo 0.6 (wanted: at least 0.5)"), "{text}");
    assert!(text.contains("aim for lull, met: foreground / alone 0.98 (wanted: at least 0.98)"), "{text}");
    assert!(text.contains("parallel, bfq: vda has no scheduler 'bfq'"), "{text}");
    let tar = text.split("quiet-tar").nth(1).unwrap();
    assert!(
        tar.contains("0.960") && !tar.contains("p99") && !tar.contains('['),
        "one run has no range: {tar}"
    );
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

#[test]
fn a_sweep_over_intensities_and_intervals_gives_the_papers_figure() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    for percent in [20, 60] {
        for (contender, kept, moved) in [
            ("alone", 100, 0),
            ("solo", 0, 100_000),
            ("none", 50, 60_000),
            ("lull --interval 0ns", 50, 50_000),
            ("lull --interval 5ms", 99, 40_000),
        ] {
            let foreground = (kept > 0).then(|| crate::load::LoadReport {
                load: "net-transfer".to_owned(),
                requests: kept,
                bytes: kept * 10 * percent,
                seconds: 1.0,
                ..crate::load::LoadReport::default()
            });
            let background = (moved > 0).then(|| record::Background {
                bytes: moved,
                window_s: 1.0,
                ..record::Background::default()
            });
            let run = Run {
                case: format!("tcp-udp-far-{percent}"),
                contender: contender.to_owned(),
                round: 1,
                foreground,
                background,
                counted: true,
                ..Run::default()
            };
            writer.append(&Record::Run(run)).unwrap();
        }
    }
    let mut text = Vec::new();
    write(dir.path(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let page = std::fs::read_to_string(dir.path().join(figures::PAGE)).unwrap();
    assert!(text.contains("| paper | simulated | holds | here | holds |"), "{text}");
    assert!(text.contains("fig12.svg") && page.contains("Figure 12, measured"), "{page}");
    let half = page.lines().find(|line| line.starts_with("| below P ≈ 20-30 ms: foreground ≈50%")).unwrap();
    assert_eq!(half.matches('|').count(), 6, "{half}");
    assert!(half.contains("up to 1 ms: 30-70% in 2 of 2 points"), "{half}");
    assert!(page.contains("| 20% | 0.50 [0.50-0.50] | 0.7"), "{page}");
    let csv = std::fs::read_to_string(dir.path().join("fig12.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3, "{csv}");
    assert!(!dir.path().join("fig9.svg").exists());
}

#[test]
fn a_line_about_a_run_tells_only_what_was_measured() {
    let (dir, _) = reported();
    let runs = record::read(dir.path()).unwrap().into_iter().filter_map(|record| match record {
        Record::Run(run) => Some(run),
        _ => None,
    });
    let is_timed = |run: &Run| run.foreground.as_ref().is_some_and(|one| one.latency.is_some());
    let mut run = runs.into_iter().find(is_timed).unwrap();
    let latency = run.foreground.as_ref().unwrap().latency.unwrap();
    let told = format!(", median {}, p99 {}", Nanos(latency.p50_ns), Nanos(latency.p99_ns));
    assert!(one_line(&run).contains(&told), "{}", one_line(&run));
    let foreground = run.foreground.as_mut().unwrap();
    foreground.latency = None;
    assert!(!one_line(&run).contains("median"), "{}", one_line(&run));
    run.foreground.as_mut().unwrap().probe = Some(Box::new(Probed { latency, sent: 1, lost: 0 }));
    assert!(one_line(&run).contains(", round trip mean ") && one_line(&run).contains(&told));
}

#[test]
fn what_agrees_and_what_was_overrun_stands_in_the_table() {
    let figures = |overrun: &[u32]| CpuFigures {
        overlap: Some(Coverage { inside: 4, rounds: 5 }),
        overrun: overrun.to_vec(),
        ..CpuFigures::default()
    };
    let text = |overrun: &[u32]| {
        let rows =
            vec![Row { contender: "lull".into(), runs: 5, cpu: Some(figures(overrun)), ..Row::default() }];
        let case = CaseStudy { case: "serve-80".into(), rows, ..CaseStudy::default() };
        let study = Study { cases: vec![case], ..Study::default() };
        [table::Form::Text, table::Form::Markdown].map(|form| table::render(&study, form))
    };
    for text in text(&[2, 5]) {
        assert!(text.contains("OVERRUN |") || text.contains("OVERRUN ┆"), "{text}");
        assert!(text.contains("overlap") && text.contains("4/5"), "{text}");
        assert!(text.contains("OVERRUN: lull in 2 of 5 rounds (2, 5)"), "{text}");
    }
    assert!(text(&[]).iter().all(|text| !text.contains("OVERRUN")));
}

#[test]
fn an_aim_without_a_measure_is_neither_met_nor_not_met() {
    let aim = |got: Option<f64>| Aim {
        what: "speed".to_owned(),
        wanted: 0.95,
        at_most: false,
        got,
        met: got.is_some_and(|got| got >= 0.95),
        set_by: None,
        open: false,
    };
    let (missing, met, missed) = (aim(None), aim(Some(1.0)), aim(Some(0.5)));
    let open = Aim { open: true, ..aim(None) };
    for (aim, said) in [
        (&missing, "not measured: speed"),
        (&open, "open, for too few rounds: speed"),
        (&met, "met: speed 1"),
        (&missed, "NOT met: speed 0.5"),
    ] {
        assert_eq!(table::aim_line(aim), format!("aim for lull, {said} (wanted: at least 0.95)"));
    }
    let told = |aims: &[&Aim]| Tally::of(&aims.iter().copied().cloned().collect::<Vec<_>>()).to_string();
    assert_eq!(told(&[&met, &missed]), "1 of 2");
    assert_eq!(told(&[&met, &missing, &missing]), "1 of 1, 2 not measured");
    assert_eq!(told(&[&met, &open]), "1 of 1, 1 open");
    assert_eq!(told(&[&met, &missing, &open]), "1 of 1, 1 not measured, 1 open");
    assert_eq!(told(&[&missing]), "not measured");
    assert_eq!(told(&[]), "not measured");
}
