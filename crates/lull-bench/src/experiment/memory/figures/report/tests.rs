#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::page::{Filled, Middle, Page, Phase, Point, Row, Series, Timed};
use super::super::race::{Memory, Sample};
use super::write;

fn timed(row: Row, round: u32, host_took_s: Option<f64>) -> Timed {
    let (host_s, guest_s) = (host_took_s, host_took_s.map(|took| took + 4.0));
    Timed { row, round, host_s, guest_s, host_took_s, limit_s: 24.0, swapped_pages: [256, 0] }
}

fn filled(point: Point, round: u32, host_s: Option<f64>) -> Filled {
    Filled { point, round, host_s, limit_s: 24.0, swapped_pages: [512, 1] }
}

fn sample(at_s: f64, host: u64, guest: u64) -> Sample {
    let held = |mib: u64| Memory { resident_bytes: mib << 20, swapped_bytes: 0 };
    Sample { at_s, host: held(host), guest: held(guest) }
}

fn page() -> Page {
    let mut tables = vec![timed(Row::Serial, 1, Some(4.0)), timed(Row::Serial, 2, Some(5.0))];
    tables.extend([timed(Row::HostFirstNice, 1, Some(8.0)), timed(Row::HostFirstNice, 2, None)]);
    tables.extend([timed(Row::HostFirstLull, 1, Some(4.4)), timed(Row::HostFirstLull, 2, Some(5.5))]);
    tables.push(timed(Row::GuestFirstNice, 3, Some(9.0)));
    let batches = vec![
        filled(Point::Alone, 1, Some(0.5)),
        filled(Point::Factor(50), 1, Some(0.6)),
        filled(Point::Factor(2), 1, None),
        filled(Point::Default, 1, Some(0.75)),
    ];
    let samples = (0..=100).map(|index| sample(f64::from(index) / 10.0, 130, 50)).collect();
    let series = |control: &str, thresholds| Series {
        control: control.to_owned(),
        span_s: 10.0,
        host_came_s: 1.8,
        thresholds,
        samples: Vec::clone(&samples),
    };
    Page {
        scale: 1,
        rounds: 2,
        requests: 7,
        tables,
        over_time: vec![series("lull", Some([50 << 20, 70 << 20])), series("nice", None)],
        batches,
        missing: vec!["together-equal: no swap".to_owned()],
        ..Page::default()
    }
}

#[test]
fn runs_that_were_given_up_make_a_median_a_bound_only_from_the_middle_on() {
    let of = |values: &[(f64, bool)]| Middle::of(values.iter().copied()).map(|it| (it.value, it.is_bound));
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[(1.0, false), (9.0, true), (2.0, false)]), Some((2.0, false)));
    assert_eq!(of(&[(1.0, false), (9.0, true), (9.0, true)]), Some((9.0, true)));
    assert_eq!(of(&[(2.0, false), (9.0, true)]), Some((5.5, true)), "at least");
    assert_eq!(
        of(&[(30.0, false), (9.0, true), (1.0, false)]),
        Some((30.0, false)),
        "a bound is the longest"
    );
}

#[test]
fn ratios_are_of_the_same_round_and_rounds_without_a_reference_do_not_count() {
    let page = page();
    let host_first = page.of_row(Row::HostFirstLull, |timed| timed.host_took_s).unwrap();
    assert!((host_first.value - 1.1).abs() < 1e-9, "{host_first:?}");
    let nice = page.of_row(Row::HostFirstNice, |timed| timed.host_took_s).unwrap();
    assert!(nice.is_bound && (nice.value - f64::midpoint(2.0, 24.0 / 5.0)).abs() < 1e-9, "{nice:?}");
    assert_eq!(page.of_row(Row::GuestFirstNice, |timed| timed.host_took_s), None, "no serial run in round 3");
    assert_eq!(page.factors(), [2, 50]);
    assert!(page.of_point(Point::Factor(2)).unwrap().is_bound);
    assert_eq!(page.of_point(Point::Default).unwrap().value, 1.5);
}

#[test]
fn a_phase_is_judged_by_its_end() {
    let mut series = page().over_time.remove(0);
    for late in series.samples.iter_mut().filter(|sample| sample.at_s >= 9.0) {
        late.guest.resident_bytes = 70 << 20;
    }
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    assert_eq!(series.at_end_of(Phase::Works).map(|both| both.map(mib)), Some([130.0, 50.0]));
    assert_eq!(series.at_end_of(Phase::Rests).map(|both| both.map(mib)), Some([130.0, 70.0]));
    series.samples.truncate(30);
    assert_eq!(series.at_end_of(Phase::Rests), None, "the run was cut");
}

#[test]
fn every_figure_has_its_points_its_picture_and_the_papers_values() {
    let dir = tempfile::tempdir().unwrap();
    let mut said = Vec::new();
    write(dir.path(), &page(), false, &mut said).unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let text = read("linger.md");
    assert_eq!(text.as_bytes(), said);
    for line in [
        "| host first, guest at nice 19 | 1.09 | > 3.4 | 2.15 | > 3.9 | 1 |",
        "| host first, Linger priority / lull | 2.01 | 2.00 [1.90-2.10] | 1.01 | 1.10 [1.10-1.10] | 0.8% | 10.0% | 1 |",
        "| guest first, at nice 19 | > 219 | – | > 219 | – | > 200× | – | 1 |",
        "| host works: guest | 50 (the low threshold) | 50 | 50 |",
        "| 50 | 1.2 | 1.20 [1.20-1.20] | 2 |",
        "| 2 | – | > 48.0 | 2 |",
        "- together-equal: no swap",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let csv = read("tables.csv");
    assert!(csv.contains("host-first-nice,2,,,,24.0000,256,0\n"), "{csv}");
    assert_eq!(read("fig4.csv").lines().count(), 1 + 2 * 101);
    assert!(read("fig5.csv").contains("50,1,0.6000,24.0000,512,1\n"));
    assert!(read("tables.svg").contains("1.10×") && read("fig4.svg").contains("guest under lull"));
    assert!(read("fig5.svg").contains("lull: 1.50"), "a line for lull as it is");
}

#[test]
fn what_was_not_measured_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let page = Page { tables: Vec::new(), over_time: Vec::new(), ..page() };
    let mut said = Vec::new();
    write(dir.path(), &page, true, &mut said).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&said).unwrap();
    assert_eq!(
        (told["batches"].as_array().unwrap().len(), &told["batches"][0]["point"]),
        (4, &"alone".into())
    );
    let mut names: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["fig5.csv", "fig5.svg", "linger.md"]);
    assert!(!page.is_empty() && Page::default().is_empty());
}
