use super::*;
use crate::run::summary::{SlowdownSummary, Summary};

fn whole(kept: Option<bool>) -> WholeSummary {
    let part = |resource: &str, lost| LostPart { resource: resource.to_owned(), lost };
    WholeSummary { lost: 0.031, lost_worst: 0.047, parts: vec![part("cpu", 0.011), part("vda", 0.02)], kept }
}

#[test]
fn the_sum_is_told_after_the_resources_with_what_each_took_of_it() {
    let summary =
        Summary { is_complete: true, promised: 0.05, whole: Some(whole(Some(true))), ..Summary::default() };
    let text = summary.text();
    assert!(
        text.contains(
            "lull: in all: the foreground lost 3.1% of its time (cpu 1.1%, vda 2.0%), 4.7% in the worst minute; at most \
             5.0% is promised over all: kept\n"
        ),
        "{text}"
    );
    assert!(!Summary { whole: None, ..summary }.text().contains("in all:"));
    assert!(whole(Some(false)).sentence(0.02).ends_with("NOT kept"));
    assert_eq!(
        whole(None).sentence(0.05),
        "what the foreground lost is not known well enough (cpu, vda); at most 5.0% is promised over all: neither proved nor \
         refuted"
    );
}

#[test]
fn a_sum_is_kept_if_all_is_known_and_broken_if_that_is_proved() {
    let keeps = WholeSummary::keeps;
    assert_eq!((keeps(true, true, false), keeps(true, false, false)), (Some(true), None));
    assert_eq!((keeps(false, true, true), keeps(false, true, false)), (Some(false), None));
}

#[test]
fn what_is_proved_of_a_slowdown_is_the_lower_end_if_that_is_one() {
    let slowdown = |low| SlowdownSummary { ratio: 1.1, low, high: None, pairs: 20 };
    assert!((slowdown(1.03).proved() - 0.03).abs() < 1e-9);
    assert!(slowdown(0.9).proved().abs() < 1e-9);
}
