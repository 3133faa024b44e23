//! One promise over all resources: what was lost is added up once, and who loses most backs off.
//!
//! Problem: the foreground is promised that it loses at most some share of its time, wherever. Each resource has a control of its own; if
//! each may lose the whole, a foreground that uses a disk and the CPUs may lose twice as much. Parts that are fixed beforehand starve
//! one resource for the sake of another that loses nothing.
//!
//! Approach: everybody may lose the whole promise, but the one that loses most of late: it may lose what the others leave, a quarter at
//! the least. So the sum comes back within the promise, and whoever loses little is left alone.
//!
//! Units: nanoseconds of foreground time; a loss is a share of it. For the sum the foreground's time in a second is the longest that any
//! resource says. Edge cases: losses are booked late and in lumps; what is lost of late is a mean over about five seconds.

use crate::base::share::Loss;
use crate::base::time::Nanos;
use crate::promise::budget::{Budget, BudgetSetting, Kept};

/// How often losses are added up.
const EVERY: Nanos = Nanos::from_secs(1);
/// What is lost of late is a mean over about so much of the foreground's time.
const OF_LATE: Nanos = Nanos::from_secs(5);
/// What is left for the one that loses most: a part of the promise, one in so many.
const LEAST: u32 = 4;

/// What is known of one resource; the last two only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Whether foreground and job are both at work there.
    pub contended: bool,
    /// For how long the foreground was at work there.
    pub worked: Nanos,
    /// What it has lost there.
    pub lost: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    was_contended: bool,
    latest: Use,
    /// What was known when it was last added up.
    before: Use,
    /// What it loses of late, as a share.
    losing: f64,
}

impl Account {
    fn worked(&self) -> Nanos {
        self.latest.worked.since(self.before.worked)
    }

    fn lost(&self) -> Nanos {
        self.latest.lost.since(self.before.lost)
    }

    fn settle(&mut self) {
        let worked = self.worked();
        if worked > Nanos::ZERO {
            let share = self.lost().0 as f64 / worked.0 as f64;
            self.losing += (share - self.losing) * (worked.0 as f64 / OF_LATE.0 as f64).min(1.0);
        }
        self.before = self.latest;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Ledger {
    accounts: Vec<Account>,
    /// What was lost on all resources until it was last added up.
    whole: Budget,
    settled: Nanos,
    looked: Nanos,
}

impl Ledger {
    /// Of this promise.
    pub fn new(promise: Loss) -> Self {
        Self {
            accounts: Vec::new(),
            whole: Budget::new(BudgetSetting { promise, ..BudgetSetting::default() }),
            settled: Nanos::ZERO,
            looked: Nanos::ZERO,
        }
    }

    /// What is promised over all resources.
    pub fn promise(&self) -> Loss {
        self.whole.setting().promise
    }

    /// Takes in what is known of all resources, always in the same order; new ones come last. Returns, about once a second, what each may
    /// lose from now on.
    pub fn look(&mut self, now: Nanos, uses: &[Use]) -> Option<Vec<Loss>> {
        self.looked = now;
        self.accounts.resize(self.accounts.len().max(uses.len()), Account::default());
        for (account, latest) in self.accounts.iter_mut().zip(uses) {
            account.latest = *latest;
            account.was_contended |= latest.contended;
        }
        if now.since(self.settled) < EVERY {
            return None;
        }
        self.whole = self.whole_by_now();
        self.settled = now;
        self.accounts.iter_mut().for_each(Account::settle);
        let most = (0..self.accounts.len())
            .max_by(|a, b| self.accounts[*a].losing.total_cmp(&self.accounts[*b].losing));
        let promise = self.promise();
        let of = |place| if Some(place) == most { self.left_by_others(place) } else { promise };
        Some((0..self.accounts.len()).map(of).collect())
    }

    /// Whether foreground and job ever were at work there.
    pub fn was_contended(&self, resource: usize) -> bool {
        self.accounts.get(resource).is_some_and(|account| account.was_contended)
    }

    /// What was lost on one resource, as a share of the foreground's time.
    pub fn lost_on(&self, resource: usize) -> f64 {
        let lost = self.accounts.get(resource).map_or(Nanos::ZERO, |account| account.latest.lost);
        lost.0 as f64 / (self.whole_by_now().worked().0 as f64).max(1.0)
    }

    /// How the promise was kept so far, over all resources.
    pub fn kept(&self) -> Kept {
        self.whole_by_now().kept()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a million")]
    fn left_by_others(&self, place: usize) -> Loss {
        let others: f64 = (0..self.accounts.len())
            .filter(|other| *other != place)
            .map(|other| self.accounts[other].losing)
            .sum();
        let whole = self.promise();
        let left = Loss::ppm(((whole.fraction() - others).clamp(0.0, 1.0) * 1e6) as u32);
        left.max(Loss::ppm(whole.as_ppm() / LEAST))
    }

    /// What was lost on all resources, the time since it was last added up included.
    fn whole_by_now(&self) -> Budget {
        let mut whole = self.whole.clone();
        let span = self.looked.since(self.settled);
        let worked = self.accounts.iter().map(Account::worked).max().unwrap_or(Nanos::ZERO);
        whole.pass(worked.min(span));
        whole.spend(self.accounts.iter().fold(Nanos::ZERO, |sum, account| sum.plus(account.lost())));
        whole
    }
}

#[cfg(test)]
mod tests;
