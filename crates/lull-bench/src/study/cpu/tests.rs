use super::*;
use crate::load::{BeatBursts, Latency};
use crate::record::{Background, Record, Reported};
use crate::study::{CaseStudy, Study, aims::Aim};

/// A run of the request server: 1,000 requests with this mean in microseconds, and this much work beside it.
fn run(case: &str, contender: &str, round: u32, mean_us: u64, work: u64) -> Run {
    let mean_ns = mean_us * 1_000;
    let foreground = (contender != "solo").then(|| LoadReport {
        load: "cpu-serve".to_owned(),
        requests: 1_000,
        seconds: 2.0,
        busy_ns: 800 * mean_ns,
        bursts: 500,
        burst_ns: 500 * mean_ns,
        latency: Some(Latency { mean_ns, p99_ns: 3 * mean_ns, p999_ns: 5 * mean_ns, ..Latency::default() }),
        ..LoadReport::default()
    });
    let background = (contender != "alone").then(|| Background {
        bytes: work,
        window_s: 2.0,
        control_cpu_s: Some(0.1),
        life_s: Some(4.0),
        ..Background::default()
    });
    Run {
        case: case.to_owned(),
        contender: contender.to_owned(),
        round,
        foreground,
        background,
        counted: true,
        ..Run::default()
    }
}

/// Rounds of which the second is twice as slow; lull reports a loss of 2% to 4% in each.
fn study(case: &str, lull_mean_us: [u64; 3]) -> CaseStudy {
    let mut records = Vec::new();
    for ((round, pace), lull_mean) in [(1, 1), (2, 2), (3, 1)].into_iter().zip(lull_mean_us) {
        records.push(run(case, "alone", round, 1_000 * pace, 0));
        records.push(run(case, "solo", round, 0, 2_000 / pace));
        records.push(run(case, "sched-idle", round, 1_400 * pace, 1_000 / pace));
        records.push(run(case, "nice", round, 1_400 * pace, 900 / pace));
        let lull = run(case, "lull", round, lull_mean * pace, 700 / pace);
        records.push(Run { reported: Some(Reported { estimate: 1.03, low: 1.02, high: 1.04 }), ..lull });
    }
    Study::of(&records.into_iter().map(Record::Run).collect::<Vec<_>>()).cases.remove(0)
}

fn figures_of<'a>(study: &'a CaseStudy, name: &str) -> &'a CpuFigures {
    study.rows.iter().find(|row| row.contender == name).unwrap().cpu.as_ref().unwrap()
}

#[test]
fn ratios_are_taken_within_rounds() {
    let study = study("serve-50", [1_030, 1_030, 1_050]);
    let near = |summary: Option<Summary>, wanted: f64| {
        let got = summary.unwrap();
        assert!((got.median - wanted).abs() < 1e-9 && got.count == 3, "{got:?} for {wanted}");
    };
    let lull = figures_of(&study, "lull");
    near(lull.mean, 1.03);
    near(lull.p999, 1.03);
    near(lull.service, 1.03);
    near(lull.mean_ns, 1_050_000.0);
    near(lull.over_sched_idle, 0.7);
    near(lull.work_per_s, 350.0);
    near(lull.control_cpus, 0.025);
    near(lull.reported, 1.03);
    assert_eq!(figures_of(&study, "alone").over_sched_idle, None);
    assert_eq!(figures_of(&study, "solo").mean, None);
}

#[test]
fn a_run_with_quiet_beats_is_compared_with_itself() {
    let mut records = Vec::new();
    for (round, pace) in [(1, 1), (2, 7)] {
        // The machine is as slow as it likes; the run of alone is of no use.
        let mut alone = run("serve-50", "alone", round, 1_000, 0);
        let mut lull = run("serve-50", "lull", round, 1_100 * pace, 500);
        for (run, mean) in [(&mut alone, 1_000), (&mut lull, 1_000 * pace)] {
            let quiet = self::run("serve-50", "alone", round, mean, 0).foreground;
            run.foreground.as_mut().unwrap().quiet = quiet.map(Box::new);
        }
        records.extend([alone, lull].map(Record::Run));
    }
    let study = Study::of(&records).cases.remove(0);
    let lull = study.rows.iter().find(|row| row.contender == "lull").unwrap();
    let medians = [lull.p99, figures_of(&study, "lull").mean, figures_of(&study, "lull").service];
    for figure in medians {
        assert!((figure.unwrap().median - 1.1).abs() < 1e-9, "{figure:?}");
    }
    assert_eq!(figures_of(&study, "alone").mean.unwrap().median, 1.0);
}

#[test]
fn the_true_slowdown_is_looked_for_in_the_reported_interval_round_by_round() {
    let study = study("serve-50", [1_030, 1_040, 1_050]);
    let coverage = figures_of(&study, "lull").coverage.unwrap();
    assert_eq!(coverage, Coverage { inside: 2, rounds: 3 });
    assert_eq!(coverage.share(), Some(2.0 / 3.0));
    assert_eq!(figures_of(&study, "sched-idle").coverage, None, "it reports nothing");
}

/// A run of lull that reports a loss of 2% to 4%; bursts in its loaded and quiet beats take these
/// microseconds.
fn beaten(bursts_us: &[[u64; 2]]) -> Run {
    let mut lull = run("serve-50", "lull", 1, 1_000, 500);
    lull.reported = Some(Reported { estimate: 1.03, low: 1.02, high: 1.04 });
    let kind = |kind: usize| {
        let beats = bursts_us.iter().zip(0..).map(|(us, pair)| BeatBursts {
            pair,
            bursts: 100,
            burst_ns: 100_000 * us[kind],
        });
        beats.collect::<Vec<_>>()
    };
    let foreground = lull.foreground.as_mut().unwrap();
    foreground.quiet = Some(Box::new(LoadReport { beats: kind(1), ..foreground.clone() }));
    foreground.beats = kind(0);
    lull
}

#[test]
fn a_measured_slowdown_with_an_error_agrees_with_what_it_overlaps() {
    let overlap = |bursts_us: &[[u64; 2]]| {
        let study = Study::of(&[Record::Run(beaten(bursts_us))]).cases.remove(0);
        figures_of(&study, "lull").overlap
    };
    let agrees = |inside| Some(Coverage { inside, rounds: 1 });
    // 10% on average in both; the machine hits both beats of a pair alike, which is no error.
    let steady: Vec<[u64; 2]> = (0..8).map(|pair| 1_000 << (pair % 3)).map(|us| [us * 11 / 10, us]).collect();
    assert_eq!(overlap(&steady), agrees(0));
    let noisy: Vec<[u64; 2]> = [900, 1_300].repeat(4).into_iter().map(|us| [us, 1_000]).collect();
    assert_eq!(overlap(&noisy), agrees(1));
    assert_eq!(overlap(&noisy[..4]), None, "too few to know the error");
    assert_eq!(overlap(&[]), None, "records of older versions");
}

#[test]
fn rounds_that_were_overrun_are_named_per_contender() {
    let records: Vec<Record> = (1..=3)
        .flat_map(|round| {
            let overrun = Run { overrun: round != 2, ..run("serve-80", "lull", round, 1_000, 500) };
            [overrun, run("serve-80", "nice", round, 1_400, 900)].map(Record::Run)
        })
        .collect();
    let study = Study::of(&records).cases.remove(0);
    assert_eq!(figures_of(&study, "lull").overrun, [1, 3]);
    assert!(study.aims.iter().any(|aim| aim.got == Some(2.0) && !aim.met), "{:?}", study.aims);
    assert_eq!(figures_of(&study, "nice").overrun, Vec::<u32>::new());
}

#[test]
fn figures_of_older_versions_are_read() {
    let study = study("serve-50", [1_030; 3]);
    let text = serde_json::to_string(&study).unwrap();
    assert!(text.contains("\"coverage\"") && !text.contains("\"overlap\""), "{text}");
    assert!(!text.contains("\"overrun\""), "{text}");
    assert_eq!(serde_json::from_str::<CaseStudy>(&text).unwrap(), study);
}

#[test]
fn aims_are_those_of_the_case() {
    let met = |case: &str, mean: u64| -> Vec<bool> {
        study(case, [mean; 3]).aims.iter().map(|aim: &Aim| aim.met).collect()
    };
    // Mean, p99, background over sched-idle, coverage, rounds that were overrun.
    assert_eq!(met("serve-50", 1_030), [true, true, true, true, true]);
    assert_eq!(met("serve-50", 1_045), [false, true, true, false, true]);
    assert_eq!(met("serve-50-at-20", 1_190), [true, false, false, true]);
    assert_eq!(met("serve-10", 1_045), [true, true, false, false, true]);
    assert_eq!(met("serve-80", 1_045), [true, true, true, false, true]);
    assert_eq!(met("integer", 1_030), [true, true, false, true, true]);
    assert_eq!(met("wakeup", 1_300), [false]);
    assert_eq!(met("spin", 1_030), [false; 0]);
}

#[test]
fn the_mean_and_the_tail_decide_who_is_dominated() {
    let study = study("serve-50", [1_030; 3]);
    let dominated =
        |name: &str| study.rows.iter().find(|row| row.contender == name).unwrap().dominated_by.clone();
    assert_eq!(dominated("nice"), ["sched-idle"], "the same latency, less work");
    assert_eq!(dominated("sched-idle"), Vec::<String>::new());
    assert_eq!(dominated("lull"), Vec::<String>::new());
}

#[test]
fn cases_of_disks_have_no_figures_of_the_cpu() {
    let mut disk = run("parallel", "alone", 1, 1_000, 0);
    disk.foreground.as_mut().unwrap().load = "disk-read".to_owned();
    let study = Study::of(&[Record::Run(disk)]);
    assert_eq!(study.cases[0].rows[0].cpu, None);
    assert!(!serde_json::to_string(&study).unwrap().contains("cpu\":null"));
}
