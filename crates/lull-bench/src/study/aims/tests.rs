//! The aims of the cases on a link, from runs of one round.

use super::{Aim, IDLE_LINK};
use crate::load::LoadReport;
use crate::record::{Background, Record, Run};
use crate::study::Study;

/// Bytes of both classes in a second; 0: none was there.
fn run(case: &str, contender: &str, foreground: u64, background: u64) -> Record {
    let report = LoadReport {
        load: "net-transfer".to_owned(),
        requests: foreground,
        bytes: foreground,
        seconds: 1.0,
        ..LoadReport::default()
    };
    Record::Run(Run {
        case: case.to_owned(),
        contender: contender.to_owned(),
        foreground: (foreground > 0).then_some(report),
        background: (background > 0).then(|| Background {
            bytes: background,
            window_s: 1.0,
            ..Background::default()
        }),
        counted: true,
        ..Run::default()
    })
}

/// The aims on a link that carries 1,000 and of which the foreground alone takes 250, with so much of both
/// beside lull.
fn aims(case: &str, foreground: u64, background: u64) -> Vec<Aim> {
    let records =
        [run(case, "alone", 250, 0), run(case, "solo", 0, 1_000), run(case, "lull", foreground, background)];
    Study::of(&records).cases.remove(0).aims
}

fn aim(aims: &[Aim], what: &str) -> Aim {
    aims.iter().find(|aim| aim.what == what).unwrap().clone()
}

#[test]
fn an_upload_is_to_fill_nine_tenths_of_what_the_foreground_leaves() {
    // Of the 750 that are left: 675 is just enough, although it is two thirds of what the link carries.
    for (background, part, met) in [(675, 0.90, true), (674, 674.0 / 750.0, false), (510, 0.68, false)] {
        let aim = aim(&aims("tcp-tcp-25", 250, background), IDLE_LINK);
        assert!((aim.wanted - 0.90).abs() < 1e-9 && !aim.at_most, "{aim:?}");
        assert!((aim.got.unwrap() - part).abs() < 1e-9, "{aim:?}");
        assert_eq!(aim.met, met, "{aim:?}");
    }
    // What it takes from the foreground makes the idle link no larger.
    let aim = aim(&aims("tcp-tcp-25", 100, 674), IDLE_LINK);
    assert!(!aim.met && aim.got < Some(0.90), "{aim:?}");
}

#[test]
fn a_foreground_connection_keeps_98_percent_beside_an_upload() {
    let kept = |foreground| aim(&aims("tcp-tcp-25", foreground, 700), "foreground / alone").met;
    assert!(kept(245) && !kept(244));
}

#[test]
fn beside_a_foreground_that_sends_the_whole_link_is_idle_for_a_download() {
    let met = |background| aim(&aims("tcp-down-25", 250, background), "background / solo").met;
    assert!(met(900) && !met(899));
}
