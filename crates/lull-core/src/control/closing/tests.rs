use proptest::prelude::*;

use super::*;
use crate::control::frontier::candidates;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn histogram(values: impl IntoIterator<Item = Nanos>) -> Histogram {
    let mut histogram = Histogram::default();
    values.into_iter().for_each(|value| histogram.record(value));
    histogram
}

/// One gap per request; background delays by 10 ms a request that would take 80 ms.
fn cost(requests: usize) -> Cost {
    Cost { requests: requests as f64, exposure: 1.0, delay: 1e7, cycle: 8e7, unseen: 0.0, period: 1e7 }
}

const NOTHING: Measured = Measured { arrived: 0, met: 0, served: 0.0 };
const DEAR: Rival = Rival { loss: 0.03, starts: 0.5 };

fn regular(cost: &Cost) -> Forecast<'_> {
    Forecast::new(&histogram((0..100).map(|_| ms(60))), &histogram((0..100).map(|_| ms(20))), cost).unwrap()
}

fn offers<'a>(forecast: &'a Forecast<'_>) -> impl Iterator<Item = Offer> + 'a {
    forecast.rounds().map(|rounds| forecast.offer(rounds, forecast.starts(rounds)))
}

#[test]
fn as_many_rounds_as_are_over_before_the_foreground_returns() {
    let cost = cost(100);
    let forecast = regular(&cost);
    let offers: Vec<Offer> = offers(&forecast).collect();
    let [one, two, three, ..] = offers[..] else { panic!("{offers:?}") };
    assert!(one.loss < 1e-9 && two.loss < 1e-9, "{offers:?}");
    assert!(three.loss > 0.02, "the third is in service when the foreground returns: {three:?}");
    assert!((one.starts - 1.0).abs() < 1e-9 && (two.starts - 2.0).abs() < 1e-9, "{offers:?}");
    assert!(two.closing.from > ms(25) && two.closing.from < ms(35), "amid the second: {two:?}");
    assert!(two.closing.until > ms(60) && two.closing.until < ms(70), "{two:?}");
    let mut rounds = Rounds::default();
    assert_eq!(rounds.choose(Nanos::ZERO, &forecast, &NOTHING, &DEAR, 0.01), Some(two.closing));
    assert_eq!(rounds.in_force(), 2);
}

#[test]
fn starts_of_an_interval_fill_what_it_leaves() {
    let (gaps, service, cost) =
        (histogram((0..100).map(|_| ms(50))), histogram((0..100).map(|_| ms(20))), cost(100));
    let forecast = Forecast::new(&gaps, &service, &cost).unwrap();
    for (interval, starts) in [(0, 3.0), (15, 2.0), (25, 2.0), (45, 1.0), (51, 0.0)] {
        let got = forecast.starts_after(ms(interval));
        assert!((got - starts).abs() < 1e-9, "{interval} ms: {got}");
    }
}

#[test]
fn an_interval_that_does_as_well_within_what_is_free_is_preferred() {
    let cost = cost(100);
    let forecast = regular(&cost);
    let choose = |rival| Rounds::default().choose(Nanos::ZERO, &forecast, &NOTHING, &rival, 0.01);
    assert_eq!(choose(Rival { loss: 0.005, starts: 1.9 }), None);
    assert!(choose(Rival { loss: 0.03, starts: 1.9 }).is_some(), "unless it spends more than that");
    assert_eq!(choose(Rival { loss: 0.03, starts: 3.0 }), None);
}

#[test]
fn rounds_that_did_harm_are_fewer_for_a_while_and_then_tried_again() {
    let cost = cost(100);
    let forecast = regular(&cost);
    let mut rounds = Rounds::default();
    let harm = Measured { arrived: 100, met: 50, served: 0.0 };
    rounds.choose(ms(0), &forecast, &NOTHING, &DEAR, 0.01);
    rounds.choose(ms(10), &forecast, &harm, &DEAR, 0.01);
    assert_eq!(rounds.in_force(), 1);
    rounds.choose(ms(20), &forecast, &NOTHING, &DEAR, 0.01);
    assert_eq!(rounds.in_force(), 1, "not at once");
    rounds.choose(ms(5_000), &forecast, &NOTHING, &DEAR, 0.01);
    assert_eq!(rounds.in_force(), 2);
    rounds.choose(ms(5_010), &forecast, &harm, &DEAR, 0.01);
    assert_eq!(rounds.choose(ms(5_020), &forecast, &harm, &DEAR, 0.01), None, "one round did harm, too");
}

#[test]
fn a_few_that_met_background_by_chance_are_no_harm() {
    let cost = cost(100);
    let forecast = regular(&cost);
    let mut rounds = Rounds::default();
    rounds.choose(ms(0), &forecast, &NOTHING, &DEAR, 0.01);
    rounds.choose(ms(10), &forecast, &Measured { arrived: 19, met: 19, served: 0.0 }, &DEAR, 0.01);
    rounds.choose(ms(20), &forecast, &Measured { arrived: 30, met: 3, served: 0.0 }, &DEAR, 0.01);
    assert_eq!(rounds.in_force(), 2);
}

#[test]
fn without_service_measured_there_is_no_forecast() {
    let (gaps, cost) = (histogram([ms(60)]), cost(1));
    assert!(Forecast::new(&gaps, &histogram((1..FEW_SERVICES).map(|_| ms(20))), &cost).is_none());
    assert!(Forecast::new(&Histogram::default(), &histogram((0..99).map(|_| ms(20))), &cost).is_none());
}

proptest! {
    #[test]
    fn an_offer_starts_no_more_than_an_open_gap_and_is_closed_where_it_says(
        gaps in prop::collection::vec(1..100_000_000_u64, 1..60),
        service in 1_000..50_000_000_u64,
        delay in 1.0..1e8_f64,
    ) {
        let cost = Cost { delay, ..cost(gaps.len()) };
        let gaps = histogram(gaps.into_iter().map(Nanos));
        let services = histogram((0..20).map(|_| Nanos(service)));
        let forecast = Forecast::new(&gaps, &services, &cost).unwrap();
        let open = forecast.starts_after(Nanos::ZERO);
        let all = candidates(&gaps, &cost).last().map_or(0.0, |point| point.loss).max(cost.loss(1.0, 0.0));
        let mut before = 0.0;
        for offer in offers(&forecast) {
            prop_assert!(offer.loss >= before - 1e-9, "more rounds cost no less: {offer:?} after {before}");
            prop_assert!(offer.loss <= all + 1e-9 && offer.starts <= open + 1.0, "{offer:?}, {all}, {open}");
            prop_assert!(offer.closing.from > Nanos(service / 3));
            before = offer.loss;
        }
    }
}
