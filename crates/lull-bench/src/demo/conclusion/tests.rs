use super::*;
use crate::record::{Disturbance, Run};

fn row(contender: &str, [mean, p99, work]: [[f64; 3]; 3]) -> Row {
    Row {
        contender: contender.to_owned(),
        mean: Summary::of(mean),
        p99: Summary::of(p99),
        background: Summary::of(work),
        ..Row::default()
    }
}

fn case(rows: Vec<Row>) -> CaseStudy {
    CaseStudy { case: "demo-cpu".to_owned(), rows, aims: Vec::new() }
}

const LULL: [[f64; 3]; 3] = [[1.04, 1.1, 1.2], [1.5, 2.0, 3.0], [0.6, 0.5, 0.55]];

#[test]
fn the_sentence_tells_what_the_figures_tell() {
    let nice = row("nice+ionice", [[2.0, 2.1, 2.2], [2.5, 4.0, 6.0], [0.9, 0.95, 0.97]]);
    let confined = row("confined", [[1.0, 1.05, 1.1], [1.1, 1.3, 1.4], [0.4, 0.45, 0.49]]);
    let told = conclusion(&case(vec![nice.clone(), confined.clone(), row("lull", LULL)])).unwrap();
    assert_eq!(
        told,
        "Under lull run the foreground's mean latency is 1.10 of what it is alone (p99 2.00), and the job does 55% of what it does alone; \
         beyond the spread of 3 rounds that is a lower mean and less work than under nice+ionice, and a higher p99 and more work than \
         under confined."
    );
    // The other way round, by the same rows under other names.
    let swapped = Row { contender: "lull".to_owned(), ..nice };
    let told = conclusion(&case(vec![swapped, row("confined", LULL)])).unwrap();
    assert!(told.ends_with("that is a higher mean and more work than under confined."), "{told}");
}

#[test]
fn what_is_within_the_spread_is_no_difference() {
    let told = conclusion(&case(vec![row("confined", LULL), row("lull --depth 1", LULL)])).unwrap();
    assert!(told.ends_with("that is no clear difference from confined."), "{told}");
}

#[test]
fn one_round_is_not_compared_and_references_never_are() {
    let one = |name: &str, factor: f64| Row {
        contender: name.to_owned(),
        mean: Summary::of([factor]),
        p99: Summary::of([factor]),
        background: Summary::of([factor / 10.0]),
        ..Row::default()
    };
    let told = conclusion(&case(vec![one("none", 5.0), one("lull", 1.0)])).unwrap();
    assert!(told.ends_with("the job does 10% of what it does alone."), "{told}");
    let references = REFERENCES.map(|name| row(name, [[9.0; 3]; 3]));
    let told = conclusion(&case(references.into_iter().chain([row("lull", LULL)]).collect())).unwrap();
    assert!(told.ends_with("alone."), "{told}");
}

#[test]
fn without_lull_nothing_is_concluded() {
    assert_eq!(conclusion(&case(vec![row("nice+ionice", LULL)])), None);
    let solo_less = Row { background: None, ..row("lull", LULL) };
    assert_eq!(conclusion(&case(vec![solo_less])), None);
}

#[test]
fn what_the_hypervisor_took_is_told_of_its_act_only() {
    let turn = |case: &str, stolen_cpus| {
        let disturbance = Some(Disturbance { others_cpus: None, stolen_cpus });
        Record::Run(Run { case: case.to_owned(), disturbance, ..Run::default() })
    };
    let records =
        [turn("demo-disk", 0.01), turn("demo-cpu", 0.0), turn("demo-cpu", 0.4), turn("demo-cpu", 0.2)];
    assert_eq!(stolen(&records, "demo-disk"), None);
    let told = stolen(&records, "demo-cpu").unwrap();
    assert!(told.starts_with("The hypervisor took 0.20 CPUs") && told.contains("0.40 at most"), "{told}");
    assert_eq!(stolen(&[], "demo-cpu"), None);
}
