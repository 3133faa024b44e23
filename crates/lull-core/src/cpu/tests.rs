//! What the policy does on a virtual clock, with readings made by hand.

use proptest::prelude::*;

use super::*;
use crate::base::histogram::Histogram;
use crate::promise::late::late_share;

const MILLI: Nanos = Nanos::from_millis(1);

fn buffer(cpus: u32) -> CpuBuffer {
    CpuBuffer::new(CpuSetting { cpus, ..CpuSetting::default() }, 1)
}

/// A foreground that uses `running` CPUs all the time, looked at every millisecond for `ms`; what is lent at the end.
fn compute(buffer: &mut CpuBuffer, from: Nanos, running: u32, ms: u64) -> Lent {
    let mut busy = Nanos::ZERO;
    let mut lent = buffer.lent();
    for tick in 0..=ms {
        let reading = CpuReading { running, peak: running, busy, ..CpuReading::default() };
        lent = buffer.step(from.plus(MILLI.times(tick)), &reading);
        busy = busy.plus(MILLI.times(u64::from(running)));
    }
    lent
}

#[test]
fn a_job_begins_with_every_cpu() {
    for cpus in [1, 2, 64] {
        assert_eq!(buffer(cpus).lent(), Lent { cpus, share: Share::ALL, withheld: false });
        assert_eq!(buffer(cpus).wake_above(), Some(0));
    }
}

#[test]
fn within_a_millisecond_of_work_the_foreground_has_its_cpus_and_one_more() {
    for (cpus, running, lent) in [(2, 1, 1), (2, 2, 1), (4, 1, 2), (8, 3, 4), (64, 10, 53), (256, 255, 1)] {
        let mut buffer = buffer(cpus);
        assert_eq!(compute(&mut buffer, MILLI, running, 1).cpus, lent, "{running} of {cpus}");
    }
}

#[test]
fn a_burst_is_looked_at_again_before_it_counts_as_work() {
    let mut buffer = buffer(2);
    let reading = CpuReading { running: 1, ..CpuReading::default() };
    buffer.step(MILLI, &reading);
    let next = buffer.next().unwrap();
    assert!(next > MILLI && next <= MILLI.times(2), "{next}");
}

#[test]
fn daemons_that_wake_ten_times_a_second_are_no_foreground() {
    let mut buffer = buffer(2);
    let mut busy = Nanos::ZERO;
    for tick in 1..=200 {
        busy = busy.plus(Nanos::from_micros(100));
        let reading = CpuReading { running: 1, peak: 1, busy, ..CpuReading::default() };
        assert_eq!(buffer.step(Nanos::from_millis(100 * tick), &reading).cpus, 2);
    }
}

#[test]
fn a_server_at_a_tenth_of_a_cpu_is_a_foreground_and_stays_one() {
    let mut buffer = buffer(2);
    let mut busy = Nanos::ZERO;
    for tick in 1..=1000 {
        busy = busy.plus(Nanos::from_micros(100));
        let reading = CpuReading { running: tick % 2, peak: 1, busy, ..CpuReading::default() };
        let lent = buffer.step(MILLI.times(u64::from(tick)), &reading);
        assert!(tick < 10 || lent.cpus == 1, "{tick}: {lent:?}");
    }
}

/// Whether a job counts as at work that uses `share` percent of a CPU for two seconds, looked at every `look_ms`.
fn job_works(job: &mut Presence, from_s: u64, share: u64, look_ms: u64) -> bool {
    let from = Nanos::from_secs(from_s);
    let mut at_work = false;
    for look in 0..=2000 / look_ms {
        let busy = Nanos::from_micros(10 * share * look_ms * look);
        at_work = job.look(from.plus(MILLI.times(look_ms * look)), from.plus(busy));
    }
    at_work
}

#[test]
fn a_job_that_waits_for_its_disk_is_not_at_work_on_the_cpus_until_it_computes() {
    for look_ms in [1, 10, 100] {
        for (share, at_work) in [(2, false), (5, false), (10, false), (30, true), (100, true)] {
            assert_eq!(
                job_works(&mut Presence::of_job(Loss::percent(5), 2), 0, share, look_ms),
                at_work,
                "{share} {look_ms}"
            );
        }
        let mut job = Presence::of_job(Loss::percent(5), 2);
        assert!(job_works(&mut job, 0, 100, look_ms));
        assert!(!job_works(&mut job, 2, 5, look_ms), "two seconds later, {look_ms}");
    }
    let mut held = Presence::of_job(Loss::percent(5), 2);
    let at = Nanos::from_secs(1);
    assert!(!held.look(at, at));
    assert!(held.look(at, at.plus(MILLI.times(40))), "time in which it was held is left out");
}

#[test]
fn how_much_is_little_follows_what_may_be_lost() {
    for (percent, cpus, share, at_work) in [
        (1, 2, 1, false),
        (1, 2, 8, true),
        (5, 1, 4, false),
        (5, 1, 9, true),
        (5, 64, 9, false),
        (5, 64, 30, true),
    ] {
        let mut job = Presence::of_job(Loss::percent(percent), cpus);
        assert_eq!(job_works(&mut job, 0, share, 100), at_work, "{percent}% of {cpus}: {share}");
    }
}

#[test]
fn nothing_is_kept_from_a_job_that_uses_hardly_any_cpu() {
    let mut buffer = buffer(8);
    compute(&mut buffer, MILLI, 3, 50);
    assert_eq!(buffer.lent().cpus, 4);
    let mut reading = CpuReading { running: 3, peak: 3, busy: MILLI.times(300), ..CpuReading::default() };
    reading.is_light = true;
    assert_eq!(buffer.step(MILLI.times(60), &reading), Lent { cpus: 8, share: Share::ALL, withheld: false });
    assert_eq!(buffer.step(MILLI.times(61), &CpuReading { is_light: false, ..reading }).cpus, 4);
}

#[test]
fn when_the_foreground_has_gone_everything_is_lent() {
    let mut buffer = buffer(64);
    compute(&mut buffer, MILLI, 40, 50);
    assert!(buffer.at_work() && buffer.lent().cpus < 24);
    let gone = compute(&mut buffer, MILLI.times(100), 0, 200);
    assert_eq!((gone.cpus, buffer.at_work()), (64, false));
}

#[test]
fn what_is_lent_shrinks_at_once_and_grows_slowly() {
    let mut buffer = buffer(64);
    compute(&mut buffer, MILLI, 4, 100);
    let before = buffer.lent().cpus;
    assert_eq!(before, 59);
    let at = MILLI.times(101);
    let burst = CpuReading { running: 30, peak: 30, busy: Nanos::from_secs(1), ..CpuReading::default() };
    assert_eq!(buffer.step(at, &burst).cpus, 33);
    let after = CpuReading { running: 4, busy: Nanos::from_secs(2), ..burst };
    assert_eq!(buffer.step(at.plus(MILLI), &CpuReading { peak: 4, ..after }).cpus, 33, "the peak is recent");
    let mut latest = 33;
    for tick in 2..60 {
        let lent = buffer.step(
            at.plus(MILLI.times(tick)),
            &CpuReading { peak: 4, busy: Nanos::from_secs(2 + tick), ..after },
        );
        assert!(lent.cpus >= latest && lent.cpus - latest <= 4, "{} after {latest}", lent.cpus);
        latest = lent.cpus;
    }
    assert_eq!(latest, 59);
}

#[test]
fn bursts_that_find_no_free_cpu_make_the_buffer_larger_and_their_absence_smaller() {
    let mut buffer = Buffer::default();
    for tick in 1..=20 {
        buffer.look(MILLI.times(tick), 100 * tick, 3 * tick, true, 63);
    }
    let larger = buffer.cpus();
    assert!(larger > 1, "three in a hundred are too many");
    for tick in 1..=20 {
        buffer.look(Nanos::from_secs(tick), 2000 + 1000 * tick, 60, true, 63);
    }
    assert_eq!(buffer.cpus(), 1);
}

fn histogram(times: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::default();
    for (micros, count) in times {
        (0..*count).for_each(|_| histogram.record(Nanos::from_micros(*micros)));
    }
    histogram
}

#[test]
fn a_few_microseconds_more_on_a_short_burst_are_not_late() {
    let own = histogram(&[(30, 10_000), (60, 100)]);
    let delay = Nanos::from_micros(100);
    assert_eq!(late_share(&own, &histogram(&[(60, 10_000)]), delay).unwrap().ppm, 0);
    let late = late_share(&own, &histogram(&[(30, 9_500), (400, 500)]), delay).unwrap();
    assert!((45_000..=50_000).contains(&late.ppm) && late.least_ppm > 40_000, "{late:?}");
    assert_eq!(late_share(&own, &histogram(&[(400, 900)]), delay), None, "too few are known");
}

#[test]
fn what_a_burst_counts_for_follows_where_it_differs_by_much() {
    let mut bulk = Bulk::default();
    assert_eq!(bulk.look(&histogram(&[(30, 900)])), None, "too few are known");
    let most = bulk.look(&histogram(&[(30, 9_990), (5_000, 10)])).unwrap();
    assert!(most < Nanos::from_millis(4), "{most}");
    assert_eq!(bulk.look(&histogram(&[(30, 9_990), (5_000, 10)])), None);
    assert!(bulk.look(&histogram(&[(30, 9_000), (5_000, 1_000)])).unwrap() > Nanos::from_millis(4));
}

proptest! {
    #[test]
    fn every_reading_leaves_something_to_both(
        cpus in 1_u32..300,
        steps in prop::collection::vec((0_u64..20_000_000, 0_u32..300, 0_u64..5_000_000, 0_u64..50, any::<bool>()), 1..200),
    ) {
        let mut buffer = buffer(cpus);
        let (mut now, mut reading) = (MILLI, CpuReading::default());
        for (span, running, used, bursts, wants) in steps {
            now = now.plus(Nanos(span));
            reading.running = running.min(cpus);
            reading.peak = reading.running;
            reading.busy = reading.busy.plus(Nanos(used));
            reading.bursts.count += bursts;
            reading.bursts.sum += used;
            reading.began += bursts;
            reading.crowded += bursts / 3;
            reading.wants = wants;
            let lent = buffer.step(now, &reading);
            prop_assert_eq!(buffer.check(), Ok(()));
            prop_assert!(buffer.next().is_none_or(|at| at > now));
            if buffer.at_work() && lent.cpus > 1 && buffer.audited().mode == Mode::Buffered {
                prop_assert!(lent.cpus + reading.running < cpus, "{} beside {} of {}", lent.cpus, reading.running, cpus);
            }
        }
    }
}
