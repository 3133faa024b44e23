use serde_json::json;

use super::*;

#[test]
fn losses_become_ratios() {
    let summary = json!({ "slowdown": [
        { "resource": "vda", "estimate": 0.5, "low": 0.4, "high": 0.6 },
        { "resource": "cpu", "estimate": 0.25, "low": -0.5, "high": 0.5 },
    ]});
    let reported = reported_cpu_slowdown(&summary).unwrap();
    assert_eq!(reported, Reported { estimate: 1.25, low: 0.5, high: 1.5 });
    assert!(reported.contains(0.5) && reported.contains(1.5) && !reported.contains(1.51));
}

#[test]
fn a_summary_that_says_nothing_of_the_cpu_gives_nothing() {
    let disk = json!({ "resource": "vda", "estimate": 0.5, "low": 0.4, "high": 0.6 });
    let cut = json!({ "resource": "cpu", "estimate": 0.5, "low": 0.4, "high": null });
    for summary in [json!({}), json!({ "slowdown": [disk] }), json!({ "slowdown": [cut] }), json!([1])] {
        assert_eq!(reported_cpu_slowdown(&summary), None, "{summary}");
    }
}
