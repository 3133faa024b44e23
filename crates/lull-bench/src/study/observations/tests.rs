use super::*;
use crate::record::{Background, Run};
use crate::stats::Median;
use crate::study::pairs::Standing;

fn standing(name: &str, mean: f64, work: f64, held: f64) -> Standing {
    let exactly = |value| Some(Median { value, ends: None });
    Standing {
        p50: None,
        contender: name.into(),
        runs: 5,
        throughput: exactly(1.0),
        mean: exactly(mean),
        p90: None,
        p99: exactly(mean),
        p99_ns: None,
        background: exactly(work),
        background_cpus: None,
        held: Some(held),
        dominated_by: Vec::new(),
    }
}

/// Means and work of none, nice, nice+ionice, suspend and smart; how long smart was held.
fn pair(background: &str, instances: u32, figures: [(f64, f64); 5], held: f64) -> Pair {
    let names = ["none", "nice", "nice+ionice", "suspend", "smart"];
    let references = ["alone", "solo"].map(|name| standing(name, 1.0, 1.0, 0.0));
    Pair {
        few_requests: None,
        counted_by: None,
        case: format!("redis-{background}-{instances}"),
        foreground: "redis".into(),
        background: background.into(),
        instances,
        rounds: 5,
        contenders: names
            .iter()
            .zip(figures)
            .map(|(name, (mean, work))| standing(name, mean, work, held))
            .chain(references)
            .collect(),
        frontier: Vec::new(),
        lull: String::new(),
        aims: Vec::new(),
    }
}

/// The paper's world: smart is better than all, and does no less than nice and ionice.
fn good(background: &str, instances: u32) -> Pair {
    let crowd = f64::from(instances);
    let figures = [(1.0 + crowd, 0.9), (2.0, 0.4), (1.8, 0.3), (1.5, 0.4), (1.2, 0.4)];
    pair(background, instances, figures, crowd / 10.0)
}

/// A run of smart that is held after busy moments, and let go after calm ones.
fn run(case: &str, busy_before_hold: bool) -> Record {
    let (high, low) = if busy_before_hold { (0.9, 0.1) } else { (0.1, 0.9) };
    let moment =
        |n: u32, other_cpus, held| Moment { at_s: f64::from(n), background_cpus: 0.0, other_cpus, held };
    Record::Run(Run {
        case: case.into(),
        contender: "smart".into(),
        background: Some(Background { bytes: 1, window_s: 9.0, ..Background::default() }),
        over_time: vec![
            moment(1, high, false),
            moment(2, high, true),
            moment(3, low, true),
            moment(4, low, false),
        ],
        counted: true,
        ..Run::default()
    })
}

fn outcomes(pairs: &[Pair], records: &[Record]) -> [Outcome; 5] {
    of(pairs, records).map(|one| one.outcome)
}

#[test]
fn in_the_papers_world_all_five_hold() {
    let pairs = [good("memory", 2), good("memory", 8)];
    let records = [run("redis-memory-2", true), run("redis-memory-8", true)];
    assert_eq!(outcomes(&pairs, &records), [Outcome::Holds; 5]);
    let told = of(&pairs, &records);
    assert!(
        told[0].numbers.starts_with("lower in 2 of 2 cases, with no less work in 2"),
        "{}",
        told[0].numbers
    );
    assert!(
        told[1].numbers.contains("mean over that of nice: 0.60 (0.60 to 0.60, 2 cases)"),
        "{}",
        told[1].numbers
    );
}

#[test]
fn a_world_in_which_priorities_protect_as_well_refutes_them() {
    let figures = [(1.1, 0.9), (1.0, 0.8), (1.0, 0.8), (1.0, 0.8), (1.1, 0.3)];
    let pairs = [pair("memory", 2, figures, 0.5), pair("memory", 8, figures, 0.5)];
    let records = [run("redis-memory-2", false)];
    assert_eq!(outcomes(&pairs, &records), [Outcome::DoesNotHold; 5]);
}

#[test]
fn what_was_not_run_is_not_judged() {
    use Outcome::{Holds, NotMeasured};
    assert_eq!(outcomes(&[], &[]), [NotMeasured; 5]);
    // Two instances of a job that does not contend for memory say nothing of memory, of eight, or of the
    // course of time.
    let few = outcomes(&[good("tar", 2)], &[]);
    assert_eq!(few, [Holds, NotMeasured, Holds, NotMeasured, NotMeasured]);
    let mut unlike = good("memory", 2);
    unlike.contenders.retain(|one| one.contender != "suspend");
    assert_eq!(outcomes(&[unlike], &[])[0], NotMeasured);
}

#[test]
fn nobody_wins_by_doing_nothing() {
    let figures = [(3.0, 0.9), (2.0, 0.0), (1.8, 0.0), (1.5, 0.0), (1.2, 0.0)];
    let told = outcomes(&[pair("memory", 2, figures, 1.0)], &[]);
    assert_eq!([told[0], told[2]], [Outcome::NotMeasured; 2]);
}

#[test]
fn a_difference_below_the_noise_is_none() {
    let figures = [(3.0, 0.9), (1.21, 0.4), (1.21, 0.4), (1.21, 0.4), (1.2, 0.4)];
    assert_eq!(outcomes(&[pair("memory", 2, figures, 0.1)], &[])[0], Outcome::DoesNotHold);
}

#[test]
fn too_few_rounds_leave_it_open_unless_others_agree() {
    use Outcome::{Holds, Open};
    let few = |mut pair: Pair| {
        pair.rounds = FEW - 1;
        pair
    };
    let records = [run("redis-memory-2", true), run("redis-memory-8", true)];
    let pairs = [few(good("memory", 2)), few(good("memory", 8))];
    assert_eq!(outcomes(&pairs, &records), [Open; 5]);
    // One case with rounds enough decides what takes one case; what takes two and eight instances stays open.
    let pairs = [good("memory", 2), few(good("memory", 8))];
    assert_eq!(outcomes(&pairs, &records), [Holds, Holds, Holds, Open, Open]);
    // A run of smart that failed is not made up for by those of the reference.
    let mut short = good("memory", 2);
    short.contenders.iter_mut().for_each(|one| one.runs = FEW - 1);
    assert_eq!(outcomes(&[short], &records[..1])[0], Open);
}

#[test]
fn what_each_takes_decides_it() {
    use Outcome::{Holds, NotMeasured};
    let with = |mut pair: Pair, names: &[&str]| {
        pair.contenders.retain(|one| names.contains(&one.contender.as_str()));
        pair
    };
    let priorities = ["nice", "nice+ionice", "smart"];
    let records = [run("redis-tar-2", true), run("redis-tar-8", true)];
    let decided = |pairs: &[Pair]| outcomes(pairs, &records);
    assert_eq!(decided(&[with(good("tar", 2), &["suspend", "smart"])])[0], Holds);
    assert_eq!(decided(&[with(good("memory", 2), &priorities)])[1], Holds);
    assert_eq!(decided(&[with(good("tar", 2), &priorities)])[2], Holds);
    let crowd = |names: &[&str]| [2, 8].map(|instances| with(good("tar", instances), names));
    assert_eq!(decided(&crowd(&["none", "nice", "nice+ionice", "smart"]))[3], Holds);
    assert_eq!(decided(&crowd(&priorities))[3], NotMeasured);
    assert_eq!(decided(&crowd(&["smart"]))[4], Holds);
}

#[test]
fn what_is_missing_is_named() {
    let numbers = |pairs: &[Pair]| of(pairs, &[]).map(|one| one.numbers);
    let without = |mut pair: Pair, name: &str| {
        pair.contenders.retain(|one| one.contender != name);
        pair
    };
    let crowd = |name: &str| [2, 8].map(|instances| without(good("memory", instances), name));
    assert_eq!(numbers(&crowd("smart")), ["missing: smart"; 5]);
    assert_eq!(
        numbers(&crowd("alone"))[1],
        "lower in 2 of 2 cases, of those with contended memory in 2 of 2; mean over that of nice: 0.60 (0.60 to 0.60, 2 cases); mean over that of nice+ionice: 0.67 (0.67 to 0.67, 2 cases); missing: alone"
    );
    let told = numbers(&crowd("nice+ionice"));
    assert!(told[0].starts_with("lower in 2 of 2 cases") && !told[0].contains("missing"), "{}", told[0]);
    assert_eq!(&told[1..4], ["missing: nice+ionice"; 3]);
    let told = numbers(&[good("tar", 2)]);
    assert_eq!(told[1], "missing: a pair with a job that contends for memory");
    assert_eq!(&told[3..], ["missing: a pair with two and with eight instances"; 2]);
    let apart = [without(good("memory", 2), "smart"), without(good("memory", 8), "suspend")];
    assert_eq!(numbers(&apart)[0], "missing: a pair that has all of suspend, smart");
}
