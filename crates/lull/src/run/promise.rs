//! The one promise of a run: what the foreground may lose on the disks and the CPUs on which it meets the job.
//!
//! Memory and network are no part of it: nothing measures what time they cost the foreground. Nor is a disk that is
//! watched by the fallback sensor.

pub(crate) mod whole;

use lull_core::{Ledger, Loss, Nanos, Use};

use super::cpu::Cpu;
use super::disk::Disk;
use super::figures::SlowdownSummary;
use whole::{LostPart, WholeSummary};

/// What control of a disk aims at, of what may be lost there, in percent: the rest is for what is learnt late.
const DISK_PERCENT: u32 = 80;
/// The place of the CPUs, which may come later than the disks, in the ledger.
const CPUS: usize = 0;

/// What control of a disk aims at, when so much may be lost there.
pub(crate) fn of_disk(promise: Loss) -> Loss {
    Loss::ppm(promise.as_ppm() / 100 * DISK_PERCENT)
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

    /// Looks what was lost, and tells everybody what it may lose from now on.
    pub(crate) fn turn(&mut self, now: Nanos, disks: &mut [Disk], mut cpu: Option<&mut Cpu>) {
        self.uses.clear();
        self.uses.push(cpu.as_deref().map_or_else(Use::default, Cpu::usage));
        self.uses.extend(disks.iter_mut().map(|disk| disk.usage(now)));
        let Some(promises) = self.ledger.look(now, &self.uses) else { return };
        if let (Some(cpu), Some(promise)) = (&mut cpu, promises.first()) {
            cpu.set_promise(*promise);
        }
        for (disk, promise) in disks.iter_mut().zip(promises.iter().skip(CPUS + 1)) {
            disk.set_promise(of_disk(*promise));
        }
    }

    /// What was lost on all resources; `None` unless the foreground met the job on more than one.
    pub(crate) fn summary(&self, disks: &[Disk], cpu: Option<&Cpu>) -> Option<WholeSummary> {
        let met = |place: &usize| self.ledger.was_contended(*place);
        let places = || (CPUS..=disks.len()).filter(met);
        if places().count() < 2 {
            return None;
        }
        let part = |place: usize| {
            let disk = place.checked_sub(CPUS + 1).and_then(|disk| disks.get(disk));
            let slowdown = match disk {
                Some(disk) => disk.control.slowdown().map(SlowdownSummary::from),
                None => cpu.and_then(Cpu::slowdown),
            };
            let resource = disk.map_or_else(|| "cpu".to_owned(), |disk| disk.traits.name.clone());
            let part = LostPart { resource, lost: self.ledger.lost_on(place) };
            // What a disk's sensor sees needs no comparison.
            (part, slowdown, disk.is_some())
        };
        let parts: Vec<_> = places().map(part).collect();
        let kept = self.ledger.kept();
        let proved: f64 =
            parts.iter().flat_map(|(_, slowdown, _)| slowdown).map(SlowdownSummary::proved).sum();
        let is_known = parts.iter().all(|(_, slowdown, is_seen)| {
            *is_seen || slowdown.as_ref().is_some_and(|slowdown| slowdown.high.is_some())
        });
        Some(WholeSummary {
            lost: kept.overall,
            lost_worst: kept.worst,
            kept: WholeSummary::keeps(kept.promise, is_known, proved > self.ledger.promise().fraction()),
            parts: parts.into_iter().map(|(part, ..)| part).collect(),
        })
    }
}
