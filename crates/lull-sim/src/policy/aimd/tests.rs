use super::*;

fn counters(met: u64, free: u64) -> Counters {
    let mut counters = Counters::default();
    counters.add(State::Background, Event::Foreground, met);
    counters.add(State::Interval, Event::Foreground, free);
    counters
}

#[test]
fn it_doubles_when_too_many_meet_background_and_shrinks_by_steps_otherwise() {
    let mut service = Histogram::default();
    service.record(Nanos(800));
    let mut aimd = Aimd::new(AimdSetting { longest: Nanos(5_000_000), ..AimdSetting::new(Loss::percent(10)) });
    assert_eq!(aimd.update(&counters(1, 1), &service), START, "two requests tell nothing");
    assert_eq!(aimd.update(&counters(2, 9), &service), START.times(2));
    assert_eq!(aimd.update(&counters(3, 19), &service), START.times(2).since(Nanos(100)), "1 of 11 is below 10%");
    for round in 2..9 {
        aimd.update(&counters(20 * round, 20 * round), &service);
    }
    assert_eq!(aimd.interval(), Nanos(5_000_000), "never longer than the longest");
}
