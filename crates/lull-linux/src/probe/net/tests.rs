use super::*;

#[test]
fn the_own_host_is_among_the_interfaces_once() {
    let found = interfaces(&Root::real());
    let own: Vec<_> = found.iter().filter(|interface| interface.loopback).collect();
    assert_eq!(own.len(), 1, "{found:?}");
    assert!(own[0].index > 0 && own[0].name == "lo");
}

#[test]
fn the_most_yielding_congestion_control_is_taken() {
    let with = |names: &[&str]| NetFacts {
        congestion_controls: names.iter().map(|&name| name.to_owned()).collect(),
        ..NetFacts::default()
    };
    assert_eq!(with(&["reno", "cubic", "lp"]).most_yielding(), Some("lp"));
    assert_eq!(with(&["reno", "bbr", "cubic"]).most_yielding(), Some("reno"));
    assert_eq!(with(&[]).most_yielding(), None);
}

#[test]
fn an_address_is_of_this_host_or_not() {
    let has = |address: &str| has_address(address.parse().unwrap());
    assert!(has("127.0.0.1") && has("::ffff:127.0.0.1"));
    // To everybody, and to many: no host's own.
    assert!(!has("255.255.255.255") && !has("ff02::1"));
}
