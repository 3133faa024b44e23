use super::*;

#[test]
fn theory_and_simulation_agree_and_the_variants_are_in_order() {
    let effort = Effort { runs: 4, length: Nanos::from_secs(60), coarse: true };
    let mut all = Vec::new();
    for greedy in [true, false] {
        for variant in Variant::ALL {
            all.extend(curve(variant, greedy, &effort, 1));
        }
    }
    assert!(largest_error(&all) < 0.15, "{}", largest_error(&all));
    let at = |name: &str, greedy| {
        let variant: Variant = name.parse().unwrap();
        let at = Nanos::from_millis(40);
        *all.iter().find(|p| p.variant == variant && p.greedy == greedy && p.interval == at).unwrap()
    };
    assert!(at("bb-bi", true).background > 1.3 * at("bp-bi", true).background, "greedy: B on b decides");
    assert!(at("bp-bi", true).foreground > at("bb-bi", true).foreground);
    assert!(at("bb-bi", false).background > 1.3 * at("bb-bp", false).background, "thinking: B on i decides");
    assert!(plot(&all).unwrap().contains("bp-bp") && csv(&all).lines().count() == all.len() + 1);
}
