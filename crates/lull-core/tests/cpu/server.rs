//! Two CPUs and a server of known harm: what the audit comes to.

use lull_core::{CpuBuffer, CpuReading, CpuSetting, Loss, Mode, Nanos, Reading, TrialSetting};

use crate::dice::Dice;

/// What a mode does to the server's requests: how much longer they are.
type Harm = fn(Mode) -> f64;

struct Outcome {
    /// Of two CPUs.
    job: f64,
    /// Of the time at work.
    loss: f64,
    mode: Mode,
}

/// A server of 600 requests a second of a millisecond each, at random, for some minutes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a model are positive")]
fn serve(harm: Harm, promise: Loss, seconds: u64, seed: u64) -> Outcome {
    let mut dice = Dice::new(seed);
    let trial = TrialSetting { recovery: 4, ..CpuSetting::default().trial };
    let setting = CpuSetting { cpus: 2, promise, trial, ..CpuSetting::default() };
    let mut buffer = CpuBuffer::new(setting, seed);
    let (mut now, mut arrives) = (Nanos(1), Nanos(1));
    let mut reading = CpuReading { wants: true, ..CpuReading::default() };
    let (mut job_ns, mut lost_ns) = (0.0, 0.0);
    let end = Nanos::from_secs(seconds);
    let mut lent = buffer.lent();
    while now < end {
        let next = buffer.next().map_or(arrives, |at| at.min(arrives)).max(now.plus(Nanos(1)));
        let given = if lent.withheld { 0.0 } else { f64::from(lent.cpus) * lent.share.fraction() };
        job_ns += next.since(now).0 as f64 * given;
        now = next;
        if now >= arrives {
            let own = 1e6 * dice.log_normal(0.3);
            let share = lent.share.fraction();
            let mode = if lent.cpus > 1 { Mode::Open } else { Mode::Buffered };
            let added = if lent.withheld { 0.0 } else { own * harm(mode) * share };
            lost_ns += added;
            reading.busy = reading.busy.plus(Nanos(own as u64));
            reading.bursts = Reading {
                count: reading.bursts.count + 1,
                sum: reading.bursts.sum + (own + added) as u64,
                work: 0,
            };
            reading.began += 1;
            (reading.running, reading.peak) = (1, 1);
            arrives = now.plus(Nanos((-dice.unit().ln() * 1e9 / 600.0) as u64 + 1));
        }
        if buffer.next().is_none_or(|at| now >= at) || buffer.wake_above() == Some(0) {
            lent = buffer.step(now, &reading);
            (reading.running, reading.peak) = (0, 0);
        }
    }
    Outcome { job: job_ns / end.0 as f64 / 2.0, loss: lost_ns / end.0 as f64, mode: buffer.audited().mode }
}

fn none(_: Mode) -> f64 {
    0.0
}

/// Beside the server on its own CPU it costs a third, on the other one hardly anything.
fn cache(mode: Mode) -> f64 {
    if mode == Mode::Open { 0.33 } else { 0.01 }
}

/// Memory is shared by both CPUs.
fn memory(mode: Mode) -> f64 {
    if mode == Mode::Open { 0.5 } else { 0.25 }
}

#[test]
fn a_job_that_does_no_harm_gets_both_cpus() {
    for seed in 1..=10 {
        let Outcome { job, mode, .. } = serve(none, Loss::percent(5), 60, seed);
        assert!(job > 0.75, "{seed}: {job:.2}, {mode:?}");
    }
}

#[test]
fn one_that_harms_on_the_servers_cpu_keeps_the_other() {
    for seed in 1..=10 {
        let Outcome { job, loss, mode } = serve(cache, Loss::percent(5), 120, seed);
        assert!((0.45..0.60).contains(&job), "{seed}: {job:.2}");
        assert!(loss < 0.05, "{seed}: {loss:.3}, {mode:?}");
    }
}

#[test]
fn one_that_harms_from_the_other_cpu_gets_a_share_of_it() {
    for seed in 1..=10 {
        let Outcome { job, loss, .. } = serve(memory, Loss::percent(5), 240, seed);
        assert!(job > 0.06, "{seed}: {job:.2}");
        assert!(loss < 0.06, "{seed}: {loss:.3}");
    }
}

#[test]
fn who_may_lose_more_lends_more() {
    for seed in 1..=10 {
        let Outcome { job, loss, .. } = serve(memory, Loss::percent(40), 60, seed);
        assert!(job > 0.45, "{seed}: {job:.2}");
        assert!(loss < 0.40, "{seed}: {loss:.3}");
    }
}
