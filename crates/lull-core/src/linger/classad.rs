//! The same policies in HTCondor's language: what a slot shows (numbers) becomes expressions that its startd evaluates.
//!
//! Problem: under HTCondor the startd decides what becomes of a guest, from expressions over the slot's ad; a second version of the rule
//! would drift from the first. Approach: [`Terms`] holds every constant, [`Terms::act`] asks [`GuestPolicy::act`] with the numbers of a
//! [`Slot`], and [`Terms::attributes`] writes the same steps down as ClassAd expressions over the attributes of that name. A test of the
//! project evaluates both on a grid, the second by HTCondor's own evaluator.
//!
//! | attribute | from | meaning |
//! |---|---|---|
//! | `LullTime`, `LullOwnerActive`, `LullOwnerSince`, `LullGuestShare` | the node's publisher | when it was measured; whether the owner is at work, since when; what a guest gets of a CPU meanwhile |
//! | `LastHeardFrom` | the collector, in its copy of the ad | when it came |
//! | `LullPlaces`, `LullElsewhereShare` | the node's publisher | places elsewhere that a guest of this node may take; its share there |
//! | `LullMover` | the node's publisher | the slot whose guest would go: of those that want to, the one that loses least by it |
//! | `LullPlaceShare` | the node's publisher | what a guest more would get |
//! | `JobStart` | HTCondor | when the guest began here |
//! | `SuccessCheckpointExitCode` | the guest's submit file (`checkpoint_exit_code`) | it saves itself |
//! | `LullSavesEvery`, `LullWork` | the guest's submit file, if its user knows | seconds between two checkpoints; its CPU seconds in all |
//! | `DiskUsage` (KiB), `TransferInputSizeMB` | HTCondor | what is carried along by a guest that saves itself; by one that begins again |
//!
//! *What is not known evicts nobody and starts nobody*: where nothing fresh has been published, no owner is at work for a guest that runs,
//! and no new one starts.
//!
//! What a guest has not saved: all that it has done here, taken as a full CPU before the owner came and the measured share since; of one
//! that saves itself no more than what it does between two checkpoints.
//!
//! Edges: ClassAds know no infinity, and dividing by zero is an error there. So comparisons are written as products, and an age that never
//! comes is `undefined`.
//!
//! Source: HTCondor Manual, *ClassAd Mechanism* and *Policy Configuration for Execute Points*.

use super::{Act, Elsewhere, Guest, GuestPolicy, Here, Leave, Owner, TAIL};
use crate::base::time::Nanos;

/// What is fixed for a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// What becomes of a guest beside an owner.
    pub policy: GuestPolicy,
    /// How long pause-and-migrate waits.
    pub patience: Nanos,
    /// From the end of the transfer to the beginning of work: queue, match, start.
    pub restart: Nanos,
    /// Bytes per second from node to node.
    pub bytes_per_s: u64,
    /// Time between checkpoints of a guest that saves itself and does not say how often.
    pub saves_every: Nanos,
    /// After so long nothing is known of the owner any more.
    pub stale_after: Nanos,
}

/// What a slot's ad says at a moment; times in seconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// Now.
    pub now_s: f64,
    /// When the owner was last measured, if he ever was.
    pub measured_s: Option<f64>,
    /// Whether he is at work.
    pub owner_active: bool,
    /// Since when he is, or is not.
    pub owner_since_s: f64,
    /// What a guest gets of a CPU since then.
    pub share: f64,
    /// What it would get elsewhere.
    pub elsewhere: f64,
    /// When the guest began, if there is one.
    pub job_start_s: Option<f64>,
    /// Whether it saves itself.
    pub saves: bool,
    /// Time between its checkpoints, if its user said so.
    pub saves_every_s: Option<f64>,
    /// Its work in all, if its user said so.
    pub work_s: Option<f64>,
    /// KiB that it has on the disk.
    pub disk_kib: Option<f64>,
    /// MiB of its input.
    pub input_mib: Option<f64>,
}

impl Slot {
    /// Whether the owner is at work, as far as is known.
    pub fn beside(&self, terms: &Terms) -> bool {
        self.is_known(terms) && self.owner_active
    }

    fn is_known(&self, terms: &Terms) -> bool {
        self.measured_s.is_some_and(|at| self.now_s - at < terms.stale_after.as_secs_f64())
    }

    fn age_s(&self) -> f64 {
        self.now_s - self.owner_since_s
    }

    /// Work done here.
    fn done_s(&self) -> f64 {
        let ran_s = self.job_start_s.map_or(0.0, |start| self.now_s - start);
        let beside_s = f64::min(ran_s, self.age_s());
        ran_s - beside_s + self.share * beside_s
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float to int casts saturate")]
fn nanos(s: f64) -> Nanos {
    Nanos((s * 1e9) as u64)
}

impl Terms {
    /// What becomes of the slot's guest; `None` while no owner is known to be at work, or no guest is there.
    pub fn act(&self, slot: &Slot) -> Option<Act> {
        slot.job_start_s.filter(|_| slot.beside(self))?;
        let kib = if slot.saves { slot.disk_kib } else { slot.input_mib.map(|mib| mib * 1024.0) };
        let transfer_s = kib.unwrap_or(0.0) / self.kib_per_s();
        let done_s = slot.done_s();
        let saves_every_s = slot.saves_every_s.unwrap_or_else(|| self.saves_every.as_secs_f64());
        let unsaved_s = if slot.saves { f64::min(done_s, saves_every_s) } else { done_s };
        let owner = Owner {
            here: Here { age: nanos(slot.age_s()), share: slot.share },
            elsewhere: Elsewhere {
                share: slot.elsewhere,
                pause: nanos(self.restart.as_secs_f64() + transfer_s),
            },
            guest: Guest {
                unsaved: nanos(unsaved_s),
                remaining: slot.work_s.map(|work_s| nanos(f64::max(work_s - done_s, 0.0))),
            },
            patience: self.patience,
        };
        Some(self.policy.act(&owner))
    }

    #[expect(clippy::cast_precision_loss, reason = "a bandwidth needs three digits, not nineteen")]
    fn kib_per_s(&self) -> f64 {
        self.bytes_per_s.max(1) as f64 / 1024.0
    }

    /// Attributes of a slot, by name: the steps of the rule, what comes of it, and a word for people.
    pub fn attributes(&self) -> Vec<(&'static str, String)> {
        let (restart, kib_per_s) = (real(self.restart.as_secs_f64()), real(self.kib_per_s()));
        let saves_every = real(self.saves_every.as_secs_f64());
        let stale = real(self.stale_after.as_secs_f64());
        let mut list = vec![
            ("LullPolicy", format!("\"{}\"", self.policy)),
            // In the collector's copy of an ad the time stands still, as all else in it does.
            ("LullNow", "ifThenElse(isUndefined(LastHeardFrom), time(), LastHeardFrom)".to_owned()),
            ("LullKnown", format!("(LullNow - LullTime < {stale}) =?= True")),
            ("LullBeside", "(LullKnown && LullOwnerActive) =?= True".to_owned()),
            ("LullHasGuest", "JobStart =!= undefined".to_owned()),
            ("LullAge", "LullNow - LullOwnerSince".to_owned()),
            ("LullSaves", "SuccessCheckpointExitCode =!= undefined".to_owned()),
            ("LullRan", "ifThenElse(LullHasGuest, LullNow - JobStart, 0)".to_owned()),
            ("LullRanBeside", "ifThenElse(LullRan < LullAge, LullRan, LullAge)".to_owned()),
            ("LullDone", "LullRan - LullRanBeside + LullGuestShare * LullRanBeside".to_owned()),
            ("LullCheckpointEvery", format!("ifThenElse(isUndefined(LullSavesEvery), {saves_every}, LullSavesEvery)")),
            (
                "LullUnsaved",
                "ifThenElse(LullSaves && LullCheckpointEvery < LullDone, LullCheckpointEvery, LullDone)".to_owned(),
            ),
            (
                "LullCarries",
                "ifThenElse(LullSaves, ifThenElse(isUndefined(DiskUsage), 0, DiskUsage), \
                 ifThenElse(isUndefined(TransferInputSizeMB), 0, TransferInputSizeMB * 1024.0))"
                    .to_owned(),
            ),
            ("LullPause", format!("{restart} + LullCarries / {kib_per_s}")),
            ("LullGain", "LullElsewhereShare - LullGuestShare".to_owned()),
            ("LullMoveCost", "LullElsewhereShare * LullPause + LullUnsaved".to_owned()),
            (
                "LullRemaining",
                "ifThenElse(isUndefined(LullWork), undefined, ifThenElse(LullWork < LullDone, 0, LullWork - LullDone))"
                    .to_owned(),
            ),
            (
                "LullDoneHereFirst",
                "(LullGuestShare > 0 && LullGain * LullRemaining <= LullMoveCost * LullGuestShare) =?= True".to_owned(),
            ),
            (
                "LullMoveAge",
                format!(
                    "ifThenElse((LullGain > 0) =?= True && !LullDoneHereFirst, {} * LullMoveCost / LullGain, undefined)",
                    real(TAIL)
                ),
            ),
        ];
        let leaves = self.leaves();
        list.push(("LullWants", format!("(LullHasGuest && LullBeside && ({leaves})) =?= True")));
        // Of several guests of a node one goes at a time: those that stay then have more.
        let goes = if self.leaves_at_once() {
            "LullWants"
        } else {
            "LullWants && (LullPlaces > 0 && LullMover == Name) =?= True"
        };
        list.push(("LullLeaves", goes.to_owned()));
        let stays = if self.policy.lingers() { "linger" } else { "suspended" };
        let (waits, goes) =
            if self.leaves_at_once() { ("evict", "evict") } else { ("waits for a place", "move") };
        list.push((
            "LullDecision",
            format!(
                "ifThenElse(!LullKnown, \"unknown\", ifThenElse(!LullHasGuest, \"no guest\", ifThenElse(!LullBeside, \"alone\", \
                 ifThenElse(LullLeaves, \"{goes}\", ifThenElse(LullWants, \"{waits}\", \"{stays}\")))))"
            ),
        ));
        list
    }

    /// When a guest beside an owner wants to leave.
    fn leaves(&self) -> String {
        match self.policy {
            GuestPolicy::LingerForever | GuestPolicy::SuspendInPlace => "False".to_owned(),
            GuestPolicy::ImmediateEviction => "True".to_owned(),
            GuestPolicy::PauseAndMigrate => format!("LullAge >= {}", real(self.patience.as_secs_f64())),
            GuestPolicy::LingerLonger => "LullAge >= LullMoveAge".to_owned(),
        }
    }

    fn leaves_at_once(&self) -> bool {
        self.policy == GuestPolicy::ImmediateEviction
    }

    /// The startd's own expressions, which refer to [`attributes`](Self::attributes), by name.
    pub fn expressions(&self) -> Vec<(&'static str, String)> {
        let is_free = if self.policy.lingers() { "LullKnown" } else { "LullKnown && !LullBeside" };
        let suspends = !self.policy.lingers() && !self.leaves_at_once();
        let suspend = if suspends { "LullHasGuest && LullBeside" } else { "False" };
        vec![
            // What the administrator wants of a job stays wanted.
            ("START", format!("($(START)) && ({is_free})")),
            ("WANT_SUSPEND", if suspends { "!(LullLeaves)" } else { "False" }.to_owned()),
            ("SUSPEND", suspend.to_owned()),
            ("CONTINUE", if suspends { "!(LullBeside)" } else { "True" }.to_owned()),
            ("PREEMPT", "LullLeaves".to_owned()),
            ("WANT_VACATE", "True".to_owned()),
            ("KILL", "False".to_owned()),
            // A guest that runs is displaced by none that would be liked better.
            ("RANK", "0".to_owned()),
        ]
    }

    /// Which place the negotiator gives a guest first: one without an owner, then that with the largest share. In tenths: among those that are as
    /// good as each other, as far as can be measured, the guest's own rank decides.
    pub fn preference(&self) -> String {
        "ifThenElse(LullBeside =?= False, 100, 0) + ifThenElse(isUndefined(LullPlaceShare), 0, round(10 * LullPlaceShare))"
            .to_owned()
    }

    /// Whether a guest leaves, for comparing [`act`](Self::act) with `LullWants` and `LullLeaves`.
    pub fn wants(act: Option<Act>) -> bool {
        act.is_some_and(|act| matches!(act.leave, Leave::Now | Leave::WhenThereIsAPlace))
    }
}

/// A number as ClassAds read it: always with a point, so that no division is one of whole numbers.
fn real(number: f64) -> String {
    format!("{number:?}")
}

#[cfg(test)]
mod tests;
