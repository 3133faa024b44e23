//! What may be named, and which routes lead to everywhere.

use super::{QdiscPlan, default_route_interfaces, each_once, rate_text};
use crate::root::Root;

#[test]
fn an_interface_may_have_a_rate() {
    let plan = |interface: &str, rate_kbit| Ok(QdiscPlan { interface: interface.to_owned(), rate_kbit });
    assert_eq!("eth0".parse(), plan("eth0", None));
    assert_eq!("eth0:90mbit".parse(), plan("eth0", Some(90_000)));
    assert_eq!("eth0:1:2gbit".parse(), plan("eth0:1", Some(2_000_000)));
    for wrong in
        ["", ":1mbit", "eth0:", "eth0:90", "eth0:0mbit", "eth0:1kbit", "eth0:fast", "a b", "abcdefghijklmnop"]
    {
        let error = wrong.parse::<QdiscPlan>().unwrap_err();
        assert!(error.starts_with('\'') && error.lines().count() == 1, "{wrong}: {error}");
    }
}

#[test]
fn an_interface_that_is_named_twice_has_one_rate() {
    let plans = |words: &[&str]| {
        let plans = each_once(words.iter().map(|word| word.parse().unwrap()))?;
        Ok::<_, String>(plans.into_iter().map(|plan| (plan.interface, plan.rate_kbit)).collect::<Vec<_>>())
    };
    let once = |rate| Ok(vec![("eth0".to_owned(), rate)]);
    assert_eq!(plans(&["eth0:90mbit", "eth0:90000kbit"]), once(Some(90_000)));
    assert_eq!(plans(&["eth0", "eth0:90mbit"]), once(Some(90_000)));
    assert_eq!(plans(&["eth0:90mbit", "eth0"]), once(Some(90_000)));
    assert_eq!(plans(&["eth0", "eth1:1gbit"]).unwrap().len(), 2);
    let error = plans(&["eth0:90mbit", "eth1", "eth0:1500kbit"]).unwrap_err();
    assert!(error.contains("'eth0'") && error.contains("90mbit and 1500kbit"), "{error}");
}

#[test]
fn a_rate_is_told_as_it_is_given() {
    for text in ["100kbit", "1500kbit", "90mbit", "100mbit", "2gbit"] {
        let plan: QdiscPlan = format!("eth0:{text}").parse().unwrap();
        assert_eq!(rate_text(plan.rate_kbit.unwrap()), text);
    }
}

#[test]
fn default_routes_of_both_protocols_are_found_once() {
    let dir = tempfile::tempdir().unwrap();
    let net = dir.path().join("proc/net");
    std::fs::create_dir_all(&net).unwrap();
    let v4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
              eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
              eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
    let zero = "0".repeat(32);
    let v6 = format!(
        "{zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 wlan0\n\
         {zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n\
         {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 lo\n"
    );
    std::fs::write(net.join("route"), v4).unwrap();
    std::fs::write(net.join("ipv6_route"), v6).unwrap();
    assert_eq!(default_route_interfaces(&Root::at(dir.path())), ["eth0", "wlan0"]);
    assert!(default_route_interfaces(&Root::at(dir.path().join("nowhere"))).is_empty());
}
