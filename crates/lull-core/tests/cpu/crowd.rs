//! Many CPUs: a foreground of many short bursts that arrive in crowds.
//!
//! Times between arrivals are Pareto distributed with an infinite variance, bursts are log-normal. The job uses what it is lent and the
//! foreground leaves, and gives way at once, as the idle class does. A burst that comes while every CPU runs somebody, the job among
//! them, found no free CPU. lull's reaction takes a while.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lull_core::{CpuBuffer, CpuReading, CpuSetting, Nanos, Reading};

use crate::dice::Dice;

/// From a burst that eats the buffer to the job's confinement.
const REACTION: Nanos = Nanos::from_micros(500);
/// What a burst that found no free CPU takes longer.
const HARM: f64 = 0.3;
/// Of the Pareto distribution.
const SHAPE: f64 = 1.5;

struct Outcome {
    /// Of the CPUs that were idle, but one.
    job: f64,
    /// Of the foreground's bursts.
    crowded: f64,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a model are positive")]
fn run(mean_ns: f64, cpus: u32, load: f64, seconds: u64, seed: u64) -> Outcome {
    let mut dice = Dice::new(seed);
    let mut buffer = CpuBuffer::new(CpuSetting { cpus, ..CpuSetting::default() }, seed);
    let gap_ns = mean_ns / (load * f64::from(cpus));
    let least_ns = gap_ns * (SHAPE - 1.0) / SHAPE;
    let end = Nanos::from_secs(seconds);
    let warm = Nanos::from_secs(2);
    let (mut now, mut arrives) = (Nanos(1), Nanos(1));
    let mut ending: BinaryHeap<Reverse<(Nanos, Nanos)>> = BinaryHeap::new();
    let mut reading = CpuReading { wants: true, ..CpuReading::default() };
    let (mut lent, mut reacts) = (cpus, None::<Nanos>);
    let (mut job_ns, mut idle_ns, mut began, mut crowded) = (0.0, 0.0, 0_u64, 0_u64);
    while now < end {
        let ends = ending.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at);
        let next =
            arrives.min(ends).min(reacts.unwrap_or(Nanos::MAX)).min(buffer.next().unwrap_or(Nanos::MAX));
        let next = next.max(now);
        let running = u32::try_from(ending.len()).expect("few").min(cpus);
        let span = next.since(now).0 as f64;
        reading.busy = reading.busy.plus(next.since(now).times(u64::from(running)));
        if now >= warm {
            job_ns += span * f64::from(lent.min(cpus - running));
            idle_ns += span * f64::from((cpus - running).saturating_sub(1));
        }
        now = next;
        if now == ends {
            let Some(Reverse((_, seen))) = ending.pop() else { continue };
            reading.bursts = Reading {
                count: reading.bursts.count + 1,
                sum: reading.bursts.sum + seen.0,
                work: reading.bursts.work,
            };
        } else if now == arrives {
            let is_crowded = running < cpus && running + lent >= cpus;
            reading.began += 1;
            reading.crowded += u64::from(is_crowded);
            if now >= warm {
                began += 1;
                crowded += u64::from(is_crowded);
            }
            let took = Nanos((mean_ns * dice.log_normal(1.0)) as u64);
            let seen = if is_crowded { Nanos((took.0 as f64 * (1.0 + HARM)) as u64) } else { took };
            ending.push(Reverse((now.plus(took), seen)));
            arrives = now.plus(Nanos((least_ns * dice.unit().powf(-1.0 / SHAPE)) as u64 + 1));
            let running = u32::try_from(ending.len()).expect("few").min(cpus);
            reading.peak = reading.peak.max(running);
            if buffer.wake_above().is_some_and(|most| running > most) {
                reacts.get_or_insert_with(|| now.plus(REACTION));
            }
        }
        let is_due = reacts.is_some_and(|at| now >= at) || buffer.next().is_some_and(|at| now >= at);
        if is_due {
            reacts = None;
            reading.running = u32::try_from(ending.len()).expect("few").min(cpus);
            let given = buffer.step(now, &reading);
            lent = if given.withheld { 0 } else { given.cpus };
            reading.peak = 0;
        }
    }
    Outcome { job: job_ns / idle_ns, crowded: crowded as f64 / began as f64 }
}

const SIZES: [u32; 3] = [16, 64, 256];
const LOADS: [f64; 4] = [0.10, 0.25, 0.50, 0.75];

#[test]
fn the_job_has_nearly_all_that_is_idle_beside_bursts_of_a_tenth_of_a_second() {
    for cpus in SIZES {
        for load in LOADS {
            let Outcome { job, crowded } = run(100e6, cpus, load, 12, 7);
            assert!(job > 0.85, "{cpus} CPUs, load {load}: {job:.3}");
            // With few CPUs and a high load the foreground uses all of them now and then, and one always is lent.
            let most = if load <= 0.25 { 0.015 } else { 0.08 };
            assert!(crowded < most, "{cpus} CPUs, load {load}: {crowded:.4}");
        }
    }
}

/// Beside bursts that are as short as lull is slow, the buffer has to be large.
#[test]
fn the_shorter_the_bursts_the_more_is_kept_free() {
    for cpus in SIZES {
        let [long, short] = [100e6, 4e6].map(|mean_ns| run(mean_ns, cpus, 0.5, 60, 7));
        assert!(short.job < long.job && short.job > 0.2, "{cpus}: {:.2} {:.2}", short.job, long.job);
        assert!(short.crowded < 0.05, "{cpus}: {:.4}", short.crowded);
    }
}

/// The table of docs/results/cpu.md: `cargo test --release -p lull-core --test cpu -- --ignored --nocapture`.
#[test]
#[ignore = "prints a table, asserts nothing"]
#[expect(clippy::disallowed_macros, reason = "a table for the reader")]
fn table() {
    println!("| mean burst | CPUs | load | job, of (idle CPUs - 1) | bursts without a free CPU |");
    println!("|---|---|---|---|---|");
    for mean_ns in [4e6, 20e6, 100e6] {
        for cpus in SIZES {
            for load in LOADS {
                let Outcome { job, crowded } = run(mean_ns, cpus, load, 12, 7);
                let mean_ms = mean_ns / 1e6;
                println!("| {mean_ms} ms | {cpus} | {load:.2} | {job:.2} | {:.2}% |", crowded * 100.0);
            }
        }
    }
}
