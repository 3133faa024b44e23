//! What must hold of parallel guests whatever the parameters are.

use super::*;

fn of(application: usize, scheduler: Scheduler, load: f64, busy: usize) -> Slowdown {
    slowdown(&APPLICATIONS[application], scheduler, load, busy, Nanos::from_micros(100), 4, 200.0, 1)
}

#[test]
fn fewer_nodes_take_as_much_longer_as_the_paper_says() {
    for (application, longer) in APPLICATIONS.iter().zip([0.26, 0.25, 0.30]) {
        assert!((application.on_fewer(3) - longer).abs() < 1e-9);
        assert_eq!(application.on_fewer(4), 0.0);
    }
}

#[test]
fn no_node_in_use_slows_nobody() {
    let none = of(0, Scheduler::Linger, 0.13, 0);
    assert!(none.guest.mean.abs() < 1e-9 && none.owner.mean == 0.0);
}

#[test]
fn rounds_much_longer_than_bursts_on_one_busy_node_take_what_the_load_leaves() {
    let long = Application { name: "long", divided: 1.0, round_s: 100.0 };
    let load = 0.25;
    let one = slowdown(&long, Scheduler::Linger, load, 1, Nanos::ZERO, 8, 20_000.0, 1);
    assert!((one.guest.mean - (1.0 / (1.0 - load) - 1.0)).abs() < 0.02, "{:?}", one.guest);
    assert!(one.owner.mean.abs() < 1e-6, "switches cost nothing: {:?}", one.owner);
}

#[test]
fn more_busy_nodes_and_more_load_slow_the_guest_more_and_owners_hardly() {
    for application in 0..3 {
        let by_nodes: Vec<f64> =
            (1..=4).map(|busy| of(application, Scheduler::Linger, 0.13, busy).guest.mean).collect();
        assert!(by_nodes.is_sorted(), "{by_nodes:?}");
        let light = of(application, Scheduler::Linger, 0.07, 1);
        let heavy = of(application, Scheduler::Linger, 0.25, 1);
        assert!(light.guest.mean < heavy.guest.mean);
        assert!(heavy.owner.mean < 0.02, "{:?}", heavy.owner);
        let equal = of(application, Scheduler::Equal, 0.25, 1);
        assert!(equal.owner.mean > 5.0 * heavy.owner.mean, "{:?}", equal.owner);
        assert!(equal.guest.mean < heavy.guest.mean);
    }
}
