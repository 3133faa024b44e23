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
    let setting = AimdSetting { longest: Nanos(5_000_000), ..AimdSetting::new(Loss::percent(10)) };
    let mut aimd = Aimd::new(setting);
    assert_eq!(aimd.update(Nanos(1_000), &counters(1, 1), &service), START, "two requests tell nothing");
    assert_eq!(aimd.update(Nanos(7_000), &counters(2, 9), &service), START.times(2), "800 of 7,000 waited");
    let shrunk = START.times(2).since(Nanos(100));
    assert_eq!(aimd.update(Nanos(17_000), &counters(3, 19), &service), shrunk, "400 of 10,000");
    for round in 2..9 {
        aimd.update(Nanos(17_000 + round), &counters(20 * round, 20 * round), &service);
    }
    assert_eq!(aimd.interval(), Nanos(5_000_000), "never longer than the longest");
}
