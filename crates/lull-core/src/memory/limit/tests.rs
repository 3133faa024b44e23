use proptest::prelude::*;

use super::{
    LATEST, LEAST_BATCH, MOST_PAUSE, MemoryAction, MemoryLimit, MemoryThresholds, MemoryView, REST, SCARCE,
    SOONEST, STALLED, STALLS,
};
use crate::base::time::Nanos;

const MIB: u64 = 1 << 20;

/// A machine of 192 MiB on a virtual clock: what job and foreground want, what they get.
struct Machine {
    room: MemoryLimit,
    now: Nanos,
    job: u64,
    foreground: u64,
    stalls: u64,
    stalled: Nanos,
    refaults: u64,
    /// The foreground's page cache that looks old.
    cache: u64,
    /// What of the job cannot be had.
    locked: u64,
}

impl Machine {
    fn new(low: u64, high: u64, job: u64) -> Self {
        let room = MemoryLimit::new(MemoryThresholds { low_bytes: low * MIB, high_bytes: high * MIB });
        let (now, stalled) = (Nanos::ZERO, Nanos::ZERO);
        let (foreground, stalls, refaults, cache, locked) = (0, 0, 0, 0, 0);
        Self { room, now, job: job * MIB, foreground, stalls, stalled, refaults, cache, locked }
    }

    fn free(&self) -> u64 {
        (192 * MIB).saturating_sub(self.job + self.foreground)
    }

    fn look(&mut self) -> MemoryAction {
        let action = self.room.step(
            self.now,
            &MemoryView {
                total_bytes: 192 * MIB,
                free_bytes: self.free(),
                unused_bytes: self.free() - self.cache,
                job_bytes: self.job,
                refaults: self.refaults,
                stalls: self.stalls,
                stalled: self.stalled,
            },
        );
        self.job -= action.page_out_bytes.min(self.job.saturating_sub(self.locked));
        self.now = self.now.plus(action.next_look);
        action
    }

    /// The foreground takes up to `each` between two looks until it has `wanted`; how often nothing was free.
    fn grow(&mut self, wanted: u64, each: u64) -> u64 {
        let mut waited = 0;
        for _ in 0..1000 {
            let step = each.min(wanted - self.foreground);
            let got = step.min(self.free());
            waited += u64::from(got < step);
            self.foreground += got;
            self.look();
            if self.foreground == wanted {
                break;
            }
        }
        waited
    }
}

#[test]
fn a_foreground_that_comes_second_gets_its_memory_without_waiting() {
    let mut machine = Machine::new(0, 0, 128);
    machine.look();
    assert_eq!(machine.grow(128 * MIB, 4 * MIB), 0);
    assert!(machine.job <= 64 * MIB && machine.free() >= 6 * MIB);
}

#[test]
fn batches_are_large_and_grow_with_the_foreground() {
    let mut slow = Machine::new(0, 0, 190);
    assert_eq!(slow.look().page_out_bytes, LEAST_BATCH);
    let mut fast = Machine::new(0, 0, 120);
    fast.look();
    fast.foreground = 70 * MIB;
    assert!(fast.look().page_out_bytes >= 48 * MIB, "a quarter of the memory, ahead of demand");
    for _ in 0..100 {
        fast.look();
    }
    let given = 120 * MIB - fast.job;
    assert!(given < 60 * MIB, "no more goes once the foreground has stopped: {given}");
}

#[test]
fn a_sudden_pace_is_answered_at_once_and_forgotten_when_it_ends() {
    let mut machine = Machine::new(0, 0, 120);
    machine.look();
    machine.foreground = 4 * MIB;
    machine.now = machine.now.plus(Nanos::from_millis(4));
    machine.look();
    // More than a mebibyte in a millisecond, with 52 MiB free still.
    machine.foreground = 20 * MIB;
    machine.now = machine.now.plus(Nanos::from_millis(6));
    let sudden = machine.look().page_out_bytes;
    assert_eq!(sudden, 48 * MIB, "what is taken while it goes, too");
    let given = machine.job;
    for _ in 0..100 {
        machine.look();
    }
    assert_eq!(machine.job, given);
}

#[test]
fn a_foreground_that_fills_faster_than_pages_leave_does_not_wait() {
    // In a millisecond: clearing pages, and writing them out.
    const FILL: u64 = 2 * MIB;
    const LEAVE: u64 = 14 * MIB / 10;
    let mut machine = Machine::new(0, 0, 128);
    machine.look();
    let mut leaving = 0;
    let (mut now, mut due) = (Nanos::ZERO, Nanos::ZERO);
    while machine.foreground < 128 * MIB {
        now = now.plus(Nanos::from_millis(1));
        // A batch is under way until it has left; then comes the next look.
        if leaving > 0 {
            let part = LEAVE.min(leaving);
            machine.job -= part;
            leaving -= part;
        } else if now >= due {
            machine.now = now;
            let before = machine.job;
            let action = machine.look();
            machine.job = before;
            leaving = action.page_out_bytes;
            due = now.plus(action.next_look);
        }
        assert!(machine.free() >= FILL, "nothing is free after {} MiB", machine.foreground / MIB);
        machine.foreground += FILL;
    }
}

#[test]
fn where_memory_is_scarce_the_job_cannot_take_the_reserve_between_two_looks() {
    let mut machine = Machine::new(0, 0, 0);
    machine.foreground = 128 * MIB;
    for _ in 0..1000 {
        let ceiling = machine.look().ceiling_bytes.unwrap_or(u64::MAX);
        machine.job = ceiling.min(machine.job + 8 * MIB);
        assert!(machine.free() >= machine.room.reserve_bytes(), "{}", machine.free());
    }
    assert!(machine.free() < 2 * machine.room.reserve_bytes(), "the job has the rest");
}

#[test]
fn above_high_pages_go_and_below_it_the_kernel_decides() {
    let mut machine = Machine::new(50, 70, 128);
    machine.grow(140 * MIB, 8 * MIB);
    assert_eq!(machine.job, 70 * MIB);
    assert!(!machine.look().is_short);
    machine.room.set(MemoryThresholds { low_bytes: 0, high_bytes: 20 * MIB });
    for _ in 0..100 {
        machine.look();
    }
    assert!(machine.job < 70 * MIB && machine.job >= 20 * MIB, "{}", machine.job);
}

#[test]
fn the_ceiling_rises_when_the_foreground_has_gone() {
    let mut machine = Machine::new(0, 0, 128);
    machine.grow(128 * MIB, 4 * MIB);
    let ceiling = machine.look().ceiling_bytes;
    assert!(ceiling.is_some_and(|ceiling| ceiling <= 64 * MIB), "{ceiling:?}");
    machine.foreground = 0;
    assert_eq!(machine.look().ceiling_bytes, ceiling, "not at once");
    machine.now = machine.now.plus(REST);
    assert!(machine.look().ceiling_bytes > ceiling);
    for _ in 0..20 {
        machine.job = machine.look().ceiling_bytes.unwrap_or(128 * MIB).min(128 * MIB);
        machine.now = machine.now.plus(REST);
    }
    assert_eq!(machine.look().ceiling_bytes, None);
}

#[test]
fn the_reserve_follows_the_pressure() {
    let mut machine = Machine::new(0, 0, 184);
    machine.look();
    let least = machine.room.reserve_bytes();
    machine.stalls += 100;
    machine.look();
    assert_eq!(machine.room.reserve_bytes(), 2 * least);
    for _ in 0..30 {
        machine.now = machine.now.plus(REST);
        machine.look();
    }
    assert_eq!(machine.room.reserve_bytes(), least);
}

#[test]
fn waits_of_late_count_however_often_one_looks() {
    let mut machine = Machine::new(0, 0, 184);
    machine.look();
    let least = machine.room.reserve_bytes();
    // A few at each of many looks are as many as all at one.
    for _ in 0..2 {
        assert_eq!(machine.room.reserve_bytes(), least);
        machine.stalls += STALLS / 2 + 1;
        machine.look();
    }
    assert_eq!(machine.room.reserve_bytes(), 2 * least);
    for _ in 0..30 {
        machine.now = machine.now.plus(REST);
        machine.stalls += STALLS / 2;
        machine.look();
    }
    assert_eq!(machine.room.reserve_bytes(), least, "a few a second are an accident");
}

#[test]
fn a_foreground_that_stands_still_for_want_of_memory_is_pressure_too() {
    let mut machine = Machine::new(0, 0, 184);
    machine.look();
    let least = machine.room.reserve_bytes();
    machine.stalled = machine.stalled.plus(Nanos(STALLED.0 - 1));
    machine.look();
    assert_eq!(machine.room.reserve_bytes(), least);
    machine.stalled = machine.stalled.plus(STALLED);
    machine.look();
    assert_eq!(machine.room.reserve_bytes(), 2 * least);
    // With much free it stands still for another reason.
    let mut free = Machine::new(0, 0, 20);
    free.look();
    free.stalled = STALLED.plus(STALLED);
    free.look();
    assert_eq!(free.room.reserve_bytes(), least);
}

#[test]
fn looks_are_rare_while_much_is_free() {
    let mut room = MemoryLimit::new(MemoryThresholds::default());
    let view =
        MemoryView { total_bytes: 48 << 30, free_bytes: 40 << 30, job_bytes: MIB, ..MemoryView::default() };
    assert_eq!(room.step(Nanos::ZERO, &view).next_look, LATEST);
    let scarce = MemoryView { free_bytes: 0, ..view };
    assert_eq!(room.step(Nanos::ZERO, &scarce).next_look, SOONEST);
    let calm = room.step(Nanos::from_secs(10), &scarce).next_look;
    assert_eq!(calm, SCARCE, "little is free, but nobody takes it");
    assert_eq!(
        room.step(Nanos::from_secs(10), &scarce).next_glance,
        SOONEST,
        "but somebody may at any moment"
    );
    let growing = MemoryView { total_bytes: view.total_bytes + MIB, ..scarce };
    assert_eq!(room.step(Nanos::from_secs(11), &growing).next_look, SOONEST);
    assert_eq!(
        MemoryLimit::new(MemoryThresholds::default())
            .step(Nanos::ZERO, &MemoryView::default())
            .page_out_bytes,
        0
    );
}

proptest! {
    #[test]
    fn never_more_than_the_job_has_above_its_floor(
        low in 0_u64..300, high in 0_u64..300,
        views in proptest::collection::vec((0_u64..400, 0_u64..400, 0_u64..50, 0_u64..3000), 1..50),
    ) {
        let mut room = MemoryLimit::new(MemoryThresholds { low_bytes: low * MIB, high_bytes: high * MIB });
        let (mut now, mut stalls) = (Nanos::ZERO, 0);
        for (free, job, more, ms) in views {
            now = now.plus(Nanos::from_millis(ms));
            stalls += more;
            let stalled = Nanos::from_micros(stalls * 100);
            let (total_bytes, free_bytes, job_bytes) = (400 * MIB, free * MIB, job * MIB);
            let view = MemoryView {
                total_bytes, free_bytes, unused_bytes: free_bytes / 2, job_bytes, refaults: stalls, stalls, stalled,
            };
            let action = room.step(now, &view);
            let floor = low.max(high) * MIB;
            prop_assert!(action.page_out_bytes <= (job * MIB).saturating_sub(floor));
            prop_assert!(action.holds == (action.page_out_bytes > 0));
            prop_assert!(action.is_short || !action.holds);
            prop_assert!(action.ceiling_bytes.is_none_or(|ceiling| ceiling >= floor.min(job * MIB)));
            prop_assert!((SOONEST..=LATEST).contains(&action.next_look));
            prop_assert!((SOONEST..=action.next_look).contains(&action.next_glance));
        }
    }
}

#[test]
fn a_fixed_batch_goes_at_every_look_whatever_is_missing() {
    let mut machine = Machine::new(0, 0, 180);
    machine.room = MemoryLimit::new(MemoryThresholds::default()).with_batch(Some(MIB / 2));
    machine.foreground = 12 * MIB;
    let given = |machine: &mut Machine| machine.look().page_out_bytes;
    assert_eq!([given(&mut machine), given(&mut machine)], [MIB / 2; 2]);
    machine.job = MIB / 4;
    machine.foreground = 191 * MIB;
    assert_eq!(given(&mut machine), MIB / 4, "no more than there is");
}

mod vain;
