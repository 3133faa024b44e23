//! What an act came to, in one sentence made from its figures.

use crate::record::Record;
use crate::report::picture::Figure;
use crate::stats::Summary;
use crate::study::{CaseStudy, Row};
use crate::units::count;

/// CPUs that a hypervisor may take without being mentioned.
const STOLEN: f64 = 0.05;
/// The other contenders that are references.
const REFERENCES: [&str; 3] = ["alone", "again", "solo"];

/// What the foreground loses and the job gets under lull, and where that differs from other contenders. A
/// difference counts where the ranges of all rounds have no value in common: rounds are few, and one alone
/// tells no difference. None without figures of lull.
pub(super) fn conclusion(case: &CaseStudy) -> Option<String> {
    let lull = case.rows.iter().find(|row| row.contender.split(' ').next() == Some("lull"))?;
    let (mean, p99, work) = (lull.mean?, lull.p99?, lull.background?);
    let rounds = mean.count.min(work.count);
    let others: Vec<String> = case
        .rows
        .iter()
        .filter(|row| row.contender != lull.contender && !REFERENCES.contains(&row.contender.as_str()))
        .filter_map(|row| against(lull, row))
        .collect();
    let compared = if others.is_empty() || rounds < 2 {
        String::new()
    } else {
        format!("; beyond the spread of {} that is {}", count(rounds, "round"), others.join(", and "))
    };
    Some(format!(
        "Under lull run the foreground's mean latency is {:.2} of what it is alone (p99 {:.2}), and the job does {:.0}% of what it does \
         alone{compared}.",
        mean.median,
        p99.median,
        work.median * 100.0
    ))
}

/// What the hypervisor took from the machine during an act, if that is more than the figures bear.
pub(super) fn stolen(records: &[Record], case: &str) -> Option<String> {
    let cpus = Summary::of(records.iter().filter_map(|record| match record {
        Record::Run(run) if run.case == case => Some(run.disturbance?.stolen_cpus),
        _ => None,
    }))?;
    (cpus.max >= STOLEN).then(|| {
        format!(
            "The hypervisor took {:.2} CPUs from this machine in the median turn, {:.2} at most: the figures are better in a quieter hour.",
            cpus.median, cpus.max
        )
    })
}

/// How lull's figures differ from another contender's; none if it lacks one.
fn against(lull: &Row, other: &Row) -> Option<String> {
    let figures: [(Figure, [&str; 2]); 3] = [
        (|row| row.mean, ["a lower mean", "a higher mean"]),
        (|row| row.p99, ["a lower p99", "a higher p99"]),
        (|row| row.background, ["less work", "more work"]),
    ];
    let mut found = Vec::new();
    for (figure, words) in figures {
        let (ours, theirs) = (figure(lull)?, figure(other)?);
        let [below, above] = words;
        if ours.max < theirs.min {
            found.push(below);
        } else if ours.min > theirs.max {
            found.push(above);
        }
    }
    let name = if other.contender == "none" { "no control" } else { &other.contender };
    let (last, rest) = match found.split_last() {
        None => return Some(format!("no clear difference from {name}")),
        Some((last, [])) => return Some(format!("{last} than under {name}")),
        Some((last, rest)) => (last, rest.join(", ")),
    };
    Some(format!("{rest} and {last} than under {name}"))
}

#[cfg(test)]
mod tests;
