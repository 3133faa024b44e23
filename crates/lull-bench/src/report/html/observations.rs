//! The observations of the `smart` paper, as far as these records can say whether they hold here.
//!
//! | | observation | holds in a case if |
//! |---|---|---|
//! | 1 | `smart` is better for the foreground than periodic suspension, sometimes for both | its p99 is lower than that of `suspend` |
//! | 2 | it is a clear improvement over `nice` and `allnice`, most with contended memory | its p99 is lower than that of both |
//! | 3 | both sides may win | … and its background work is no less than that of one of them |
//! | 4 | it is robust against many background jobs | with 8 instances its p99 is at most a tenth above that with 2 |
//! | 5 | it learns the foreground and runs in its calm | its background works, at a lower p99 than without control |
//!
//! Medians are compared; a difference below [`NOISE`] is none.

use std::fmt::Write;

use crate::study::{CaseStudy, NOISE, Row, Study};

fn row<'a>(case: &'a CaseStudy, name: &str) -> Option<&'a Row> {
    case.rows.iter().find(|row| row.contender == name)
}

fn p99(case: &CaseStudy, name: &str) -> Option<f64> {
    Some(row(case, name)?.p99?.median)
}

fn work(case: &CaseStudy, name: &str) -> Option<f64> {
    Some(row(case, name)?.background?.median)
}

/// Whether `smart` is clearly below `other`.
fn lower(case: &CaseStudy, other: &str) -> Option<bool> {
    Some(p99(case, "smart")? < p99(case, other)? * (1.0 - NOISE))
}

fn beats_both(case: &CaseStudy) -> Option<bool> {
    Some(lower(case, "nice")? && lower(case, "nice+ionice")?)
}

fn wins_both(case: &CaseStudy) -> Option<bool> {
    let own = work(case, "smart")?;
    Some(beats_both(case)? && (own >= work(case, "nice")? || own >= work(case, "nice+ionice")?))
}

fn works_in_calm(case: &CaseStudy) -> Option<bool> {
    Some(work(case, "smart")? > NOISE && lower(case, "none")?)
}

/// The same case with this many instances.
fn sibling<'a>(study: &'a Study, case: &CaseStudy, instances: &str) -> Option<&'a CaseStudy> {
    let (pair, _) = case.case.rsplit_once('-')?;
    study.cases.iter().find(|other| other.case == format!("{pair}-{instances}"))
}

fn is_robust(study: &Study, case: &CaseStudy) -> Option<bool> {
    let many = case.case.ends_with("-8").then_some(case)?;
    Some(p99(many, "smart")? <= 1.1 * p99(sibling(study, case, "2")?, "smart")?)
}

/// How often each holds, in the cases that can say.
pub(super) fn counts(study: &Study) -> [(&'static str, usize, usize); 5] {
    let count = |name, holds: &dyn Fn(&CaseStudy) -> Option<bool>| {
        let verdicts: Vec<bool> = study.cases.iter().filter_map(holds).collect();
        (name, verdicts.iter().filter(|holds| **holds).count(), verdicts.len())
    };
    [
        count("1. smart is better for the foreground than periodic suspension", &|case| {
            lower(case, "suspend")
        }),
        count("2. smart is better for the foreground than nice and than nice with ionice", &beats_both),
        count("3. … and gives the background no less than one of them", &wins_both),
        count("4. eight jobs cost the foreground hardly more than two", &|case| is_robust(study, case)),
        count(
            "5. smart works in the foreground's calm: more than nothing, at less cost than no control",
            &works_in_calm,
        ),
    ]
}

/// A list for the page; nothing where no case can say.
pub(super) fn text(study: &Study) -> String {
    let counts = counts(study);
    if counts.iter().all(|(_, _, cases)| *cases == 0) {
        return String::new();
    }
    let mut text = String::from("<h2>The observations of the smart paper</h2><ul>");
    for (name, holds, cases) in counts.iter().filter(|(_, _, cases)| *cases > 0) {
        let _ = write!(text, "<li>{name}: in {holds} of {cases} cases</li>");
    }
    text.push_str("</ul>");
    text
}
