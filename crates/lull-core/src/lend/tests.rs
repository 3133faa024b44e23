use super::*;
use crate::budget::BudgetSetting;
use crate::trial::Reading;

const MS: Nanos = Nanos::from_millis(1);

/// A foreground with one request per millisecond, and a lender that begins at `start`.
struct Bench {
    lender: Lender,
    budget: Budget,
    now: Nanos,
    reading: LendReading,
}

impl Bench {
    fn new(start: Rung) -> Self {
        let ladder = CpuChoices::of_cpus(2).ladder();
        Self {
            lender: Lender::new(ladder, start, LendSetting::default(), 1),
            budget: Budget::new(BudgetSetting::default()),
            now: Nanos(1),
            reading: LendReading { wants: true, ..LendReading::default() },
        }
    }

    /// Lets time pass; each request takes what `cost` says of the present lending.
    fn run(&mut self, millis: u64, requests: bool, mut cost: impl FnMut(Lending) -> u64) -> Vec<Lending> {
        let mut step = |bench: &mut Self| {
            let lending = bench.lender.step(bench.now, &bench.reading, &mut bench.budget);
            bench.now = bench.now.plus(MS);
            if requests {
                let counts = bench.reading.counts;
                bench.reading.counts =
                    Reading { count: counts.count + 1, sum: counts.sum + cost(lending), ..counts };
            }
            if lending != Lending::Held {
                bench.reading.ran = bench.reading.ran.plus(MS);
                bench.reading.counts.work += 1_000;
            }
            if bench.lender.at_work() {
                bench.budget.pass(MS);
            }
            lending
        };
        (0..millis).map(|_| step(self)).collect()
    }

    fn rung(&self) -> Rung {
        self.lender.status(&self.budget).rung
    }
}

fn top() -> Rung {
    CpuChoices::of_cpus(2).ladder().top()
}

#[test]
fn it_begins_at_the_bottom_or_where_it_is_told_to_if_there_is_such_a_rung() {
    let one = Rung { first: 1, second: 2 };
    assert_eq!(Bench::new(one).rung(), one);
    assert_eq!(Bench::new(Rung { first: 9, second: 0 }).rung(), Rung::BOTTOM);
    let mut bench = Bench::new(Rung::BOTTOM);
    assert_eq!(bench.run(1, true, |_| 100), [Lending::Held]);
}

#[test]
fn when_the_foreground_has_gone_everything_is_lent_and_with_its_first_request_nothing_more_than_the_base() {
    let mut bench = Bench::new(Rung::BOTTOM);
    bench.run(200, true, |_| 100);
    let gone = bench.run(3_000, false, |_| 100);
    assert_eq!(gone[1_500..], vec![Lending::Rung(top()); 1_500]);
    bench.run(1, true, |_| 100);
    assert_eq!(bench.run(1, true, |_| 100), [Lending::Held]);
    assert_eq!(bench.budget.lost(), Nanos::ZERO);
}

#[test]
fn harm_that_was_never_there_is_not_booked_and_the_top_is_reached() {
    let mut bench = Bench::new(Rung::BOTTOM);
    bench.run(20_000, true, |_| 1_000);
    assert_eq!(bench.rung(), top());
    let status = bench.lender.status(&bench.budget);
    assert_eq!((status.moves, bench.budget.lost()), (1, Nanos::ZERO));
    assert_eq!(status.slowdown.map(|slowdown| slowdown.ratio), Some(1.0));
}

#[test]
fn a_start_that_harms_is_left_as_soon_as_that_is_known() {
    let mut bench = Bench::new(top());
    let lent = bench.run(20_000, true, |lending| if lending == Lending::Held { 1_000 } else { 2_000 });
    assert_eq!(bench.rung(), Rung::BOTTOM);
    let beside = lent[5_000..].iter().filter(|lending| **lending != Lending::Held).count();
    assert!(beside < 1_500, "{beside} of 15,000 ms");
}

/// Requests take twice as long beside background on the top rung; on the others `within` of a thousand.
fn harm_at_the_top(within: u64) -> impl Fn(Lending) -> u64 {
    move |lending| match lending {
        Lending::Held => 1_000,
        Lending::Rung(rung) if rung != top() => within,
        Lending::Rung(_) | Lending::Forced => 2_000,
    }
}

#[test]
fn a_start_that_harms_is_left_for_the_shelter_which_only_proof_ends() {
    let shelter = Rung { first: 2, second: 3 };
    let sheltered = |within| {
        let mut bench = Bench::new(top());
        bench.lender = bench.lender.sheltered_by(&[(shelter, Nanos::ZERO)]);
        bench.run(10_000, true, harm_at_the_top(within));
        bench
    };
    let harmless = sheltered(1_000);
    assert!(shelter.is_within(harmless.rung()), "{:?}", harmless.rung());
    let harmful = sheltered(1_500);
    assert!(!shelter.is_within(harmful.rung()), "{:?}", harmful.rung());
}

#[test]
fn a_shelter_is_no_refuge_from_itself_nor_when_it_is_no_rung() {
    let shelter = Rung { first: 2, second: 3 };
    let mut bench = Bench::new(shelter);
    bench.lender = bench.lender.sheltered_by(&[(shelter, Nanos::ZERO)]);
    bench.run(10_000, true, |lending| if lending == Lending::Held { 1_000 } else { 2_000 });
    assert_eq!(bench.rung(), Rung::BOTTOM);
    let mut bench = Bench::new(top());
    bench.lender = bench.lender.sheltered_by(&[(Rung { first: 9, second: 0 }, Nanos::ZERO)]);
    bench.run(10_000, true, |lending| if lending == Lending::Held { 1_000 } else { 2_000 });
    assert_eq!(bench.rung(), Rung::BOTTOM);
}

#[test]
fn a_shelter_that_harms_is_left_for_the_next() {
    let shelters = [Rung { first: 2, second: 3 }, Rung { first: 2, second: 0 }];
    let mut bench = Bench::new(top());
    bench.lender = bench.lender.sheltered_by(&shelters.map(|rung| (rung, Nanos::ZERO)));
    bench.run(10_000, true, |lending| match lending {
        Lending::Held => 1_000,
        Lending::Rung(rung) if rung == shelters[1] => 1_000,
        Lending::Rung(_) | Lending::Forced => 2_000,
    });
    assert_eq!(bench.rung(), shelters[1]);
}

#[test]
fn a_shelter_for_foregrounds_that_rest_longer_is_left_out() {
    // A request each millisecond.
    let sheltered = |least: Nanos| {
        let mut bench = Bench::new(top());
        let shelters = [(Rung { first: 2, second: 3 }, least), (Rung { first: 2, second: 0 }, Nanos::ZERO)];
        bench.lender = bench.lender.sheltered_by(&shelters);
        bench.run(5_000, true, harm_at_the_top(1_000));
        bench.lender.moves().next().map(|first| first.to)
    };
    assert_eq!(sheltered(Nanos(MS.0 / 2)), Some(Rung { first: 2, second: 3 }));
    assert_eq!(sheltered(MS.times(2)), Some(Rung { first: 2, second: 0 }));
}

#[test]
fn a_job_without_work_is_not_tested() {
    let mut bench = Bench::new(top());
    bench.reading.wants = false;
    let lent = bench.run(5_000, true, |_| 1_000);
    assert!(lent.iter().all(|lending| *lending == Lending::Rung(top())));
    assert_eq!(bench.lender.status(&bench.budget).withheld, Nanos::ZERO);
}

#[test]
fn a_probe_waits_for_credits() {
    let mut bench = Bench::new(Rung::BOTTOM);
    bench.budget.spend(Nanos::from_millis(200));
    let lent = bench.run(4_900, true, |_| 1_000);
    assert!(!lent.contains(&Lending::Rung(top())), "a debt is earned back first");
    assert!(bench.run(5_000, true, |_| 1_000).contains(&Lending::Rung(top())));
}

#[test]
fn a_base_that_no_longer_fits_is_left_and_one_that_does_again_is_found() {
    // Everything slows requests by 3%.
    let harm = |lending: Lending| if lending == Lending::Held { 1_000 } else { 1_030 };
    let mut bench = Bench::new(top());
    bench.run(30_000, true, harm);
    assert_eq!(bench.rung(), top());
    bench.lender.set_promise(Loss::percent(1), &mut bench.budget);
    bench.run(30_000, true, harm);
    assert_eq!(bench.rung(), Rung::BOTTOM);
    bench.lender.set_promise(Loss::percent(5), &mut bench.budget);
    bench.run(600_000, true, harm);
    assert_eq!(bench.rung(), top());
}

#[test]
fn when_harm_becomes_less_everything_may_be_tried_again() {
    // One CPU slows requests by 3%, two by half: the lender settles on one, and two are barred for minutes.
    let mut bench = Bench::new(Rung { first: 1, second: top().second });
    let harm = |two: u64, one: u64| {
        move |lending: Lending| match lending {
            Lending::Held => 1_000,
            Lending::Rung(rung) if rung.first == 1 => 1_000 + one,
            Lending::Rung(_) | Lending::Forced => 1_000 + two,
        }
    };
    bench.run(120_000, true, harm(500, 30));
    assert_eq!(bench.rung().first, 1);
    for _ in 0..6 {
        bench.lender.fail(bench.now, top(), true);
    }
    bench.run(30_000, true, harm(500, 30));
    assert_eq!(bench.rung().first, 1, "it is barred");
    bench.run(60_000, true, harm(0, 0));
    assert_eq!(bench.rung(), top(), "long before the bar would have ended");
}

/// A job on a shelter that no gap lets in, and how often somebody looks; half a second after the fall.
fn held_without_a_gap(runs: impl FnMut(Nanos) -> bool) -> (Bench, u64, Nanos) {
    held_beside_gaps(runs, 0)
}

/// … or some gaps do, which cost the request that ends each of them so much.
fn held_beside_gaps(mut runs: impl FnMut(Nanos) -> bool, dear: u64) -> (Bench, u64, Nanos) {
    let mut bench = Bench::new(top());
    bench.lender = bench.lender.sheltered_by(&[(Rung { first: 2, second: 0 }, Nanos::ZERO)]);
    bench.run(500, true, harm_at_the_top(1_000));
    let (end, mut looks, mut rested) = (bench.now.plus(Nanos::from_secs(10)), 0, Nanos::ZERO);
    while bench.now < end {
        let lending = bench.lender.step(bench.now, &bench.reading, &mut bench.budget);
        looks += 1;
        let span = bench.lender.rests_until().map_or(MS, |until| until.since(bench.now));
        if span > MS {
            assert_eq!(lending, Lending::Held);
            rested = rested.plus(span);
        } else {
            let counts = bench.reading.counts;
            let lets_in = matches!(lending, Lending::Rung(_)) && runs(bench.now);
            let cost = harm_at_the_top(1_000)(lending) + if lets_in { dear } else { 0 };
            bench.reading.counts = Reading { count: counts.count + 1, sum: counts.sum + cost, ..counts };
            if lets_in {
                let met = bench.reading.met;
                bench.reading.met = Reading { count: met.count + 1, sum: met.sum + cost, ..met };
            }
            if lets_in || lending == Lending::Forced {
                bench.reading.ran = bench.reading.ran.plus(MS);
            }
        }
        bench.budget.pass(span);
        bench.now = bench.now.plus(span);
        assert!(bench.lender.at_work(), "who is not looked at has not gone");
    }
    (bench, looks, rested)
}

#[test]
fn a_job_that_no_gap_lets_in_is_hardly_looked_at_and_still_gets_its_least_share() {
    let (bench, looks, rested) = held_without_a_gap(|_| false);
    assert_eq!(bench.rung(), Rung { first: 2, second: 0 });
    assert!(rested > Nanos::from_secs(7) && looks < 3_000, "{rested} {looks}");
    let ran = bench.reading.ran;
    assert!(ran >= LendSetting::default().floor.of(Nanos::from_secs(9)), "{ran}");
}

#[test]
fn a_job_that_gaps_let_in_is_looked_at_all_the_time() {
    let (_, _, rested) = held_without_a_gap(|now| (now.0 / MS.0).is_multiple_of(10));
    assert_eq!(rested, Nanos::ZERO);
}

#[test]
fn gaps_that_cost_the_longest_requests_let_the_job_in_rarely_and_cheap_ones_always() {
    let one_in = |n| move |now: Nanos| (now.0 / MS.0).is_multiple_of(n);
    let ran = |bench: &Bench| bench.reading.ran;
    let (free, _, rested) = held_beside_gaps(one_in(10), 50);
    assert_eq!(rested, Nanos::ZERO, "a twentieth of a request");
    let (dear, _, rested) = held_beside_gaps(one_in(10), 500);
    assert!(rested > Nanos::from_secs(7), "{rested}");
    assert!(ran(&dear) < Nanos(ran(&free).0 / 3 * 2), "{} instead of {}", ran(&dear), ran(&free));
}

#[test]
fn what_is_grossly_harmful_is_not_lent_again_for_the_credits() {
    let mut bench = Bench::new(top());
    bench.lender = bench.lender.sheltered_by(&[(Rung { first: 2, second: 0 }, Nanos::ZERO)]);
    let mut dice = 1_u64;
    let lent = bench.run(19_000, true, |lending| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // A few are twenty times as long as most: not enough is known for a proof of more than the promise.
        let noise = 100 + ((dice >> 33) % 1_000).pow(6) / 10_u64.pow(15) * 2;
        if matches!(lending, Lending::Rung(rung) if rung == top()) { noise * 14 / 10 } else { noise }
    });
    let reasons: Vec<Reason> = bench.lender.moves().map(|entry| entry.reason).collect();
    assert_eq!(reasons, [Reason::Credits]);
    let beside = lent[2_000..].iter().filter(|lending| **lending == Lending::Rung(top())).count();
    assert_eq!(beside, 0);
}
