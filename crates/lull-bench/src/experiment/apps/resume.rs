//! What an earlier start has done, and what is left: a measurement that was interrupted goes on.

use std::collections::BTreeMap;
use std::path::Path;

use super::Bench;
use crate::Error;
use crate::record::{self, Host, differing, term};
use crate::units::count;

/// Refuses to add runs to a directory of runs that were made on other terms.
pub(super) fn same_terms(directory: &Path, terms: &BTreeMap<String, String>) -> Result<(), Error> {
    if !directory.join(record::FILE_NAME).exists() {
        return Ok(());
    }
    let records = record::read(directory)?;
    let now = Host { terms: terms.clone(), ..Host::default() };
    let differing = differing(record::hosts(&records).last().into_iter().chain([&now]));
    if differing.is_empty() {
        return Ok(());
    }
    let said = differing.into_iter().map(|(name, values)| {
        let values: Vec<String> = values.into_iter().map(|value| term(name, value)).collect();
        format!("{name} {}", values.join(", now "))
    });
    let said: Vec<String> = said.collect();
    Err(Error::Argument {
        argument: format!("--out {}", directory.display()),
        problem: format!(
            "its runs were made on other terms ({}); give the old ones, or another directory",
            said.join("; ")
        ),
    })
}

impl Bench<'_> {
    /// Which runs of some cases are there, and how long the rest takes.
    pub(super) fn state(&self, cases: &[String]) -> String {
        let (mut all, mut there, mut left_s) = (0, 0, 0.0);
        for case in cases {
            for contender in &self.contenders {
                for round in 1..=self.args.common.rounds {
                    all += 1;
                    if self.measurement.ledger.has(case, contender, round) {
                        there += 1;
                    } else {
                        left_s += self.args.run_s(contender);
                    }
                }
            }
        }
        match (there, all - there) {
            (0, _) => format!("about {} in all", rough(left_s)),
            (_, 0) => format!(
                "all {} there already",
                if all == 1 { "1 run is".to_owned() } else { format!("{all} runs are") }
            ),
            _ => format!(
                "{there} of {} there already, about {} for the rest",
                count(all, "run"),
                rough(left_s)
            ),
        }
    }

    /// Whether all runs of a case are there.
    pub(super) fn is_done(&self, case: &str) -> bool {
        let has = |contender| {
            (1..=self.args.common.rounds).all(|round| self.measurement.ledger.has(case, contender, round))
        };
        self.contenders.iter().all(has)
    }
}

/// A time for who waits for it.
fn rough(seconds: f64) -> String {
    match seconds {
        ..=90.0 => format!("{seconds:.0} seconds"),
        ..=5400.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests;
