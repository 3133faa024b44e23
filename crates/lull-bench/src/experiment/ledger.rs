//! The log and the records of a measurement, and the rounds that fill them.
//!
//! Every run is told in one line and appended to the records as it ends. What could not be measured is told and recorded
//! the same way, and the others go on; only an interruption ends the measurement.

use std::path::Path;

use crate::Error;
use crate::contender::Contender;
use crate::record::{Host, Record, Run, Unmet, Writer};
use crate::report;

/// The records of one measurement.
#[derive(Debug)]
pub struct Ledger {
    out: Writer,
}

/// What is run in turn.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The contenders of every round.
    pub contenders: Vec<Contender>,
    /// Seed of their order.
    pub seed: u64,
    /// How often each runs.
    pub rounds: u32,
}

impl Ledger {
    /// Begins a measurement on this host, in the records of a directory.
    pub fn open(directory: &Path, host: Host) -> Result<Self, Error> {
        let mut out = Writer::open(directory)?;
        out.append(&Record::Host(host))?;
        Ok(Self { out })
    }

    /// Runs every contender once in every round, in an order of the round's own.
    pub fn rounds(
        &mut self,
        case: &str,
        plan: &Plan,
        one: &mut dyn FnMut(&Contender, u32) -> Result<Run, Error>,
    ) -> Result<(), Error> {
        for round in 1..=plan.rounds {
            for (position, contender) in shuffled(&plan.contenders, plan.seed, round).iter().enumerate() {
                match one(contender, round) {
                    Ok(run) => {
                        let run = Run { round, position, ..run };
                        eprintln!("  {}", report::one_line(&run));
                        self.out.append(&Record::Run(run))?;
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
        self.out.append(&Record::Unmet(Unmet { case: case.to_owned(), contender, detail }))
    }
}

/// The contenders in the order of one round; the same seed and round give the same order.
pub fn shuffled(contenders: &[Contender], seed: u64, round: u32) -> Vec<Contender> {
    let mut order = contenders.to_vec();
    fastrand::Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(round))).shuffle(&mut order);
    order
}
