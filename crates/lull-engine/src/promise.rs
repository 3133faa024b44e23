//! The one promise of a run: what the foreground may lose on all resources on which it meets the job and where that is measured.
//!
//! Memory and network are no part of it: nothing measures what time they cost the foreground. Nor is a disk that is
//! watched by the fallback sensor.

use lull_core::{Ledger, Loss, Nanos, Use};

use crate::report::figures::SlowdownSummary;
use crate::report::whole::{LostPart, WholeSummary};

/// Where losses of the foreground are measured.
pub trait Account {
    /// For a person.
    fn name(&self) -> &str;

    /// What the foreground does and loses here; nothing while that is not measured.
    fn usage(&mut self, now: Nanos) -> Use;

    /// From now on `promise` is what the foreground may lose here.
    fn set_promise(&mut self, promise: Loss);

    /// How much slower the foreground is here beside the job, once that was compared.
    fn slowdown(&self) -> Option<SlowdownSummary>;

    /// Whether what is booked here is seen, and needs no comparison to be known.
    fn is_seen(&self) -> bool {
        false
    }
}

/// See the module.
pub(crate) struct Promise {
    ledger: Ledger,
    uses: Vec<Use>,
}

impl Promise {
    pub(crate) fn new(promise: Loss) -> Self {
        Self { ledger: Ledger::new(promise), uses: Vec::new() }
    }

    /// Looks what was lost, and tells everybody what it may lose from now on. The accounts are always the same in the same order, new ones
    /// last.
    pub(crate) fn turn(&mut self, now: Nanos, accounts: &mut [&mut dyn Account]) {
        self.uses.clear();
        self.uses.extend(accounts.iter_mut().map(|account| account.usage(now)));
        let promises = self.ledger.look(now, &self.uses).into_iter().flatten();
        for (account, promise) in accounts.iter_mut().zip(promises) {
            account.set_promise(promise);
        }
    }

    /// What was lost on all resources; `None` unless the foreground met the job on more than one.
    pub(crate) fn summary(&self, accounts: &[&mut dyn Account]) -> Option<WholeSummary> {
        let met: Vec<_> =
            accounts.iter().enumerate().filter(|(place, _)| self.ledger.was_contended(*place)).collect();
        if met.len() < 2 {
            return None;
        }
        let slowdowns: Vec<_> =
            met.iter().map(|(_, account)| (account.slowdown(), account.is_seen())).collect();
        let kept = self.ledger.kept();
        let proved: f64 =
            slowdowns.iter().flat_map(|(slowdown, _)| slowdown).map(SlowdownSummary::proved).sum();
        let is_known = slowdowns.iter().all(|(slowdown, is_seen)| {
            *is_seen || slowdown.as_ref().is_some_and(|slowdown| slowdown.high.is_some())
        });
        let part = |(place, account): &(usize, &&mut dyn Account)| LostPart {
            resource: account.name().to_owned(),
            lost: self.ledger.lost_on(*place),
        };
        Some(WholeSummary {
            lost: kept.overall,
            lost_worst: kept.worst,
            kept: WholeSummary::keeps(kept.promise, is_known, proved > self.ledger.promise().fraction()),
            parts: met.iter().map(part).collect(),
        })
    }
}
