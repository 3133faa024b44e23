use super::*;
use crate::load::LoadReport;
use crate::record::{Background, Record, Run};

/// What the foreground keeps, and what the background has of the link, under each contender.
const HELD: [(&str, f64, f64); 6] = [
    ("none", 0.40, 0.60),
    ("lull --interval 0ns", 0.50, 0.50),
    ("lull --interval 1ms", 0.95, 0.40),
    ("lull", 0.96, 0.45),
    ("htb", 0.97, 0.50),
    ("lull --interval 1ms --depth 4", 0.90, 0.10),
];

fn run(case: String, contender: &str, foreground: u64, background: u64) -> Record {
    Record::Run(Run {
        case,
        contender: contender.to_owned(),
        round: 1,
        foreground: (contender != "solo").then(|| LoadReport {
            load: "net-transfer".to_owned(),
            requests: foreground,
            bytes: foreground,
            seconds: 1.0,
            ..LoadReport::default()
        }),
        background: (contender != "alone").then(|| Background {
            bytes: background,
            window_s: 1.0,
            ..Background::default()
        }),
        counted: true,
        ..Run::default()
    })
}

/// A link of 1,000 bytes per second.
fn records(family: &str, percents: &[u32]) -> Vec<Record> {
    let of_case = |percent: &u32| {
        let case = format!("{family}-{percent}");
        let alone = u64::from(*percent) * 10;
        let beside = HELD.map(|(name, kept, had)| {
            let share = |of: f64| crate::units::whole(of);
            run(case.clone(), name, share(alone as f64 * kept), share(1_000.0 * had))
        });
        let references = [run(case.clone(), "alone", alone, 0), run(case, "solo", 0, 1_000)];
        references.into_iter().chain(beside)
    };
    percents.iter().flat_map(of_case).collect()
}

fn measured() -> Measured {
    let mut all = Measured::all(&Study::of(&records("udp-udp", &[50, 20])));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn points_are_ordered_and_other_contenders_are_none() {
    let measured = measured();
    assert_eq!(measured.figure, Figure::Fig9);
    assert_eq!(measured.percents(), [20, 50]);
    let names: Vec<String> = measured.rows().into_iter().map(Held::name).collect();
    assert_eq!(names, ["none", "0", "1", "auto"]);
    assert_eq!(measured.points.len(), 8);
    let auto = measured.at(50, Held::Found).unwrap();
    assert!((auto.foreground.median - 0.96).abs() < 1e-9, "{auto:?}");
    // Half of the link is left.
    assert!((auto.left_used.unwrap().median - 0.90).abs() < 1e-9, "{auto:?}");
}

#[test]
fn one_intensity_or_one_interval_is_no_figure() {
    assert!(Measured::all(&Study::of(&records("udp-udp", &[20]))).is_empty());
    assert!(Measured::all(&Study::of(&records("tcp-tcp", &[20, 50]))).is_empty());
    let mut few = records("udp-udp", &[20, 50]);
    few.retain(|record| !matches!(record, Record::Run(run) if run.contender == "lull --interval 0ns"));
    assert!(Measured::all(&Study::of(&few)).is_empty());
}

#[test]
fn a_family_does_not_take_the_cases_of_one_with_a_longer_name() {
    let both: Vec<Record> =
        records("tcp-udp", &[20, 50]).into_iter().chain(records("tcp-udp-far", &[10, 90])).collect();
    let all = Measured::all(&Study::of(&both));
    let percents: Vec<_> = all.iter().map(|measured| (measured.figure, measured.percents())).collect();
    assert_eq!(percents, [(Figure::Fig11, vec![20, 50]), (Figure::Fig12, vec![10, 90])]);
}

#[test]
fn sentences_are_judged_by_fixed_intervals_beside_the_simulator() {
    let compared = measured().compared();
    let here: Vec<_> = compared.iter().map(|both| (both.here.sentence, both.here.verdict())).collect();
    for (sentence, verdict) in [
        ("P < 0.05 ms: foreground 50%", "yes"),
        ("P > 0.05 ms: foreground > 90% for intensities over 10%", "yes"),
        ("P > 0.05 ms: foreground 60-80% below 10%", "not judged"),
        ("background stalls only above 90% intensity", "not judged"),
    ] {
        assert!(here.contains(&(sentence, verdict)), "{sentence}: {here:?}");
    }
    for both in &compared {
        assert_eq!(both.simulated.sentence, both.here.sentence);
        assert_eq!(both.simulated.holds.is_some(), both.here.holds.is_some(), "{both:?}");
    }
    assert_eq!(compared[0].here.found, "foreground 50-50%, mean 50%");
    assert_ne!(compared[2].simulated.found, compared[2].here.found, "the one is not the other");
}

#[test]
fn the_files_have_every_point() {
    let measured = measured();
    let csv = measured.csv();
    assert_eq!(csv.lines().count(), 1 + 8);
    assert!(csv.contains("\n20,none,1,0.4000,0.4000,0.4000,0.6000,"), "{csv}");
    assert!(csv.contains("\n50,auto,1,0.9600,0.9600,0.9600,0.4500,0.4500,0.4500,0.9000,"), "{csv}");
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.iter().all(|count| *count == 12), "{csv}");
    let svg = measured.picture().unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("what is left") && svg.contains("auto"), "{svg}");
}
