//! The log and the records of a measurement, and the rounds that fill them.
//!
//! Every run is told in one line and appended to the records as it ends. What could not be measured is told
//! and recorded the same way, and the others go on; only an interruption ends the measurement.

use std::collections::HashSet;
use std::path::Path;

use crate::Error;
use crate::contender::Contender;
use crate::record::{self, Host, Record, Run, Unmet, Writer};
use crate::report;

/// The records of one measurement.
#[derive(Debug)]
pub struct Ledger {
    out: Writer,
    /// Runs recorded by this measurement, those of an earlier start included.
    runs: usize,
    /// Whether CPU priorities count only within a session.
    autogroup: bool,
    /// What is done, by an earlier start of the same measurement too: case, contender, round.
    done: HashSet<(String, String, u32)>,
    /// What is recorded as not measured.
    told: Vec<Unmet>,
}

impl Ledger {
    /// Begins a measurement on this host, in the records of a directory.
    pub fn open(directory: &Path, host: Host) -> Result<Self, Error> {
        let holds_earlier = directory.join(record::FILE_NAME).metadata().is_ok_and(|file| file.len() > 0);
        let mut out = Writer::open(directory)?;
        if holds_earlier {
            let place = directory.display();
            eprintln!(
                "lull bench: {place} holds earlier runs, which are reported together with these; --out DIR keeps them apart"
            );
        }
        let autogroup = host.autogroup == Some(true);
        out.append(&Record::Host(host))?;
        Ok(Self { out, runs: 0, autogroup, done: HashSet::new(), told: Vec::new() })
    }

    /// Goes on with the measurement in the records of a directory, if it was begun on this host by this
    /// program with this seed; begins one otherwise. What was done is not done again.
    pub fn resume(directory: &Path, host: Host) -> Result<Self, Error> {
        if !directory.join(record::FILE_NAME).exists() {
            return Self::open(directory, host);
        }
        record::mend(directory)?;
        let records = record::read(directory)?;
        let is_host = |record: &&Record| matches!(record, Record::Host(_));
        let same = records.iter().rev().find(is_host).is_some_and(|latest| match latest {
            Record::Host(latest) => Host { date: host.date.clone(), ..latest.clone() } == host,
            _ => false,
        });
        if !same {
            return Self::open(directory, host);
        }
        let latest = records.iter().rposition(|record| matches!(record, Record::Host(_))).unwrap_or(0);
        let (mut done, mut told) = (HashSet::new(), Vec::new());
        for record in records.into_iter().skip(latest) {
            match record {
                Record::Run(run) => {
                    done.insert((run.case, run.contender, run.round));
                }
                Record::Unmet(unmet) => told.push(unmet),
                Record::Host(_) => {}
            }
        }
        let autogroup = host.autogroup == Some(true);
        Ok(Self { out: Writer::open(directory)?, runs: done.len(), autogroup, done, told })
    }

    /// Whether a run of this measurement is recorded.
    pub fn has(&self, case: &str, contender: &Contender, round: u32) -> bool {
        self.done.contains(&(case.to_owned(), contender.name(), round))
    }

    /// Whether CPU priorities count only within a session on this host.
    pub const fn is_autogrouped(&self) -> bool {
        self.autogroup
    }

    /// Refuses to call a measurement done that has measured nothing.
    pub fn ensure_measured(&self) -> Result<(), Error> {
        if self.runs > 0 {
            return Ok(());
        }
        let detail =
            "every case and contender was left out; the reasons are above and in raw.jsonl".to_owned();
        Err(Error::Unmet { what: "anything to report".to_owned(), detail })
    }

    /// Runs every contender once in every round, in an order of the round's own. The names of case and
    /// contender, and the place in the order, are added to what `one` returns.
    pub fn rounds(
        &mut self,
        case: &str,
        contenders: &[Contender],
        seed: u64,
        rounds: u32,
        one: &mut dyn FnMut(&Contender, u32) -> Result<Run, Error>,
    ) -> Result<(), Error> {
        for round in 1..=rounds {
            let order = shuffled(contenders, case, seed, round);
            for (position, contender) in order.iter().enumerate() {
                if self.has(case, contender, round) {
                    continue;
                }
                match one(contender, round) {
                    Ok(run) => {
                        let (case, contender) = (case.to_owned(), contender.name());
                        self.done.insert((case.clone(), contender.clone(), round));
                        let run = Run { case, contender, round, position, ..run };
                        eprintln!("  {}", report::one_line(&run));
                        self.out.append(&Record::Run(run))?;
                        self.runs += 1;
                    }
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(error) => self.unmet(case, Some(contender), error.to_string())?,
                }
            }
        }
        Ok(())
    }

    /// Records what could not be measured: a contender of a case, or all of it.
    pub fn unmet(&mut self, case: &str, contender: Option<&Contender>, detail: String) -> Result<(), Error> {
        let contender = contender.map(Contender::name);
        let who = contender.as_deref().map(|name| format!(", {name}")).unwrap_or_default();
        eprintln!("  not measured: {case}{who}: {detail}");
        let unmet = Unmet { case: case.to_owned(), contender, detail };
        if self.told.contains(&unmet) {
            return Ok(());
        }
        self.out.append(&Record::Unmet(unmet.clone()))?;
        self.told.push(unmet);
        Ok(())
    }
}

/// The contenders in the order of one round of a case; the same case, seed and round give the same order.
/// Cases differ, so that who comes after whom is not the same in all of them.
pub fn shuffled(contenders: &[Contender], case: &str, seed: u64, round: u32) -> Vec<Contender> {
    let mut order = contenders.to_vec();
    let place = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(round));
    fastrand::Rng::with_seed(place ^ hash(case)).shuffle(&mut order);
    order
}

/// FNV-1a, 64 bits: the same in every build, unlike the standard library's.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
