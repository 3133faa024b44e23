use serde_json::json;

use super::*;

#[test]
fn the_report_is_found() {
    let summary = json!({ "cpu": { "slowdown": { "ratio": 1.25, "low": 0.5, "high": 1.5, "pairs": 12 } } });
    let reported = reported_cpu_slowdown(&summary).unwrap();
    assert_eq!(reported, Reported { estimate: 1.25, low: 0.5, high: 1.5 });
    assert!(reported.contains(0.5) && reported.contains(1.5) && !reported.contains(1.51));
}

#[test]
fn a_summary_that_says_nothing_of_the_cpu_gives_nothing() {
    let open = json!({ "cpu": { "slowdown": { "ratio": 1.5, "low": 1.4, "high": null } } });
    for summary in
        [json!({}), json!({ "cpu": null }), json!({ "cpu": { "slowdown": null } }), open, json!([1])]
    {
        assert_eq!(reported_cpu_slowdown(&summary), None, "{summary}");
    }
}
