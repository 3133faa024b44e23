//! What the job cannot give, and what the foreground loses though much seems to be free.

use proptest::prelude::*;

use super::{LEAST_BATCH, MIB, MOST_PAUSE, Machine, REST, STALLS};
use crate::base::time::Nanos;

/// A machine without anything free, whose job gives nothing.
fn stuck() -> Machine {
    let mut machine = Machine::new(0, 0, 100);
    machine.locked = u64::MAX;
    machine.foreground = 92 * MIB;
    machine
}

/// Looks that hold the job, within this time.
fn holds_within(machine: &mut Machine, time: Nanos) -> usize {
    let until = machine.now.plus(time);
    let mut holds = 0;
    while machine.now < until {
        holds += usize::from(machine.look().holds);
    }
    holds
}

#[test]
fn a_job_that_has_nothing_to_give_is_left_in_peace() {
    let mut machine = stuck();
    assert!(machine.look().holds);
    let first = holds_within(&mut machine, Nanos::from_secs(4));
    assert!((2..=12).contains(&first), "{first} batches in vain");
    let later = holds_within(&mut machine, MOST_PAUSE.times(10));
    assert!((8..=16).contains(&later), "once in a while it is tried again: {later}");
    assert!(machine.look().is_short, "all the same memory is short");
}

#[test]
fn a_job_that_can_give_again_does_so_at_once() {
    let mut machine = stuck();
    holds_within(&mut machine, MOST_PAUSE.times(3));
    // What it takes now can go.
    machine.locked = machine.job;
    machine.foreground -= LEAST_BATCH;
    machine.job += LEAST_BATCH;
    let action = machine.look();
    assert_eq!((action.holds, machine.job), (true, machine.locked));
    assert!(machine.look().holds || machine.free() > 0, "what was given counts as success");
}

#[test]
fn a_shortage_that_is_over_is_forgotten() {
    let mut machine = stuck();
    holds_within(&mut machine, MOST_PAUSE.times(3));
    machine.foreground = 0;
    for _ in 0..4 {
        machine.now = machine.now.plus(REST);
        machine.look();
    }
    machine.foreground = 92 * MIB;
    assert!(machine.look().holds);
}

#[test]
fn pages_that_the_foreground_loses_are_a_shortage_though_much_seems_free() {
    // The foreground's files look old: half of the memory seems to be free.
    let mut machine = Machine::new(0, 0, 90);
    machine.cache = 100 * MIB;
    assert!(!machine.look().is_short);
    machine.refaults += STALLS;
    let action = machine.look();
    assert_eq!((action.holds, action.page_out_bytes), (true, LEAST_BATCH));
    assert!(!machine.look().is_short, "answered");
    for _ in 0..100 {
        machine.refaults += STALLS;
        machine.look();
    }
    let unused = machine.free() - machine.cache;
    assert!(unused >= 2 * machine.room.reserve_bytes() && machine.job > 0, "no more than helps: {unused}");
}

#[test]
fn pages_that_come_back_to_unused_memory_are_none() {
    let mut machine = Machine::new(0, 0, 90);
    machine.look();
    machine.refaults += 1000 * STALLS;
    assert!(!machine.look().is_short);
}

proptest! {
    #[test]
    fn a_shortage_that_cannot_be_met_holds_the_job_ever_more_rarely(
        grown in proptest::collection::vec(0_u64..LEAST_BATCH / 64, 1..400),
    ) {
        let mut machine = stuck();
        machine.foreground = 0;
        let (mut holds, mut all) = (0_u64, 0);
        for bytes in grown {
            // Whatever is free the foreground has.
            machine.job += bytes;
            all += bytes;
            machine.foreground = (192 * MIB).saturating_sub(machine.job);
            machine.refaults += STALLS;
            holds += u64::from(machine.look().holds);
        }
        // Each batch that the job grew by, eleven pauses up to the longest, and one for each of those.
        let bound = all / LEAST_BATCH + 13 + machine.now.0 / MOST_PAUSE.0;
        prop_assert!(holds <= bound, "{holds} of {bound} in {}", machine.now);
    }
}
