use super::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

#[test]
fn usleep_takes_whole_ticks_and_one_more() {
    for (now, length, wakes) in [(0, 10, 20), (3, 10, 20), (9, 1, 20), (0, 99, 110), (5, 99, 110)] {
        assert_eq!(usleep(ms(now), ms(length), ms(10)), ms(wakes), "{now} + {length}");
    }
    assert_eq!(usleep(ms(3), ms(10), Nanos::ZERO), ms(13));
}

#[test]
fn intensity_works_for_its_share_and_sleeps_for_the_rest() {
    let half = Intensity { cost: Nanos::ZERO, ..Intensity::paper(Share::percent(50)) };
    assert_eq!(half.next(ms(100), ms(149)), (ms(149), false));
    assert_eq!(half.next(ms(100), ms(150)), (ms(210), true));
    let full = Intensity { cost: Nanos::ZERO, ..Intensity::paper(Share::ALL) };
    assert_eq!(full.next(ms(100), ms(950)), (ms(950), false), "it never sleeps");
}
