//! From two readings to a picture.

use super::*;

fn reservation(path: &str, terms: (u64, u32), service: u64, asked: u64) -> ReservationStatus {
    ReservationStatus {
        path: path.to_owned(),
        queue: path.rsplit('/').next().is_some_and(|name| name.starts_with('q')),
        minimum: terms.0,
        weight: terms.1,
        owner: 0,
        collect: true,
        references: 0,
        processes: u64::from(asked > 0),
        requests: 0,
        service,
        refused: 0,
        asked,
        most_requests: None,
        most_service: None,
        input: None,
    }
}

fn status(at_ns: u64, reservations: Vec<ReservationStatus>) -> Status {
    let cpu = ResourceStatus {
        name: "cpu".to_owned(),
        means: String::new(),
        unit: "cpu/1000000".to_owned(),
        service_unit: NANOS.to_owned(),
        whole: 2_000_000,
        reservations,
    };
    Status { at_ns, resources: vec![cpu] }
}

#[test]
fn what_each_gets_beside_what_is_due() {
    let terms = [(1_000_000, 1), (0, 1), (0, 1)];
    let make = |service: [u64; 2]| {
        vec![
            reservation("r0", terms[0], 0, 0),
            reservation("r0/q0", terms[1], service[0], 1_000_000),
            reservation("q0", terms[2], service[1], 0),
            reservation("q1", (0, 1), 7, 0),
        ]
    };
    let rows = picture(&status(0, make([5, 9])), &status(2_000_000_000, make([3_000_000_005, 600_000_009])));
    let seen: Vec<_> = rows.iter().map(|row| (row.path.as_str(), row.gets, row.due, row.asks)).collect();
    assert_eq!(
        seen,
        [
            ("cpu", 1_800_000, 2_000_000, 1_000_000),
            ("cpu/r0", 1_500_000, 1_000_000, 1_000_000),
            ("cpu/r0/q0", 1_500_000, 1_000_000, 1_000_000),
            ("cpu/q0", 300_000, 1_000_000, 0),
            ("cpu/q1", 0, 0, 0),
        ]
    );
    let text = table(&rows);
    assert!(text.contains("cpu/r0/q0") && text.contains("1.50"), "{text}");
    assert_eq!(text.lines().count(), 6);
}

#[test]
fn a_reservation_that_just_came_has_got_nothing() {
    let rows =
        picture(&status(0, Vec::new()), &status(1_000_000_000, vec![reservation("q0", (0, 1), 500, 0)]));
    assert_eq!(rows[1].gets, 0);
}

#[test]
fn an_interval_that_tells_nothing_is_refused() {
    let args = TopArgs { mount: None, interval: Nanos(0), json: false };
    let told = run(&args).unwrap_err().to_string();
    assert!(told.contains("--interval") && told.contains("10ms"), "{told}");
}
