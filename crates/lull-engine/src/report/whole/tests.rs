use super::*;

fn whole(kept: Option<bool>) -> WholeSummary {
    let part = |resource: &str, lost| LostPart { resource: resource.to_owned(), lost };
    WholeSummary { lost: 0.031, lost_worst: 0.047, parts: vec![part("cpu", 0.011), part("vda", 0.02)], kept }
}

#[test]
fn the_sum_is_told_with_what_each_took_of_it_unless_it_is_not_known() {
    assert!(whole(Some(false)).sentence(0.02).ends_with("NOT kept"));
    assert_eq!(
        whole(None).sentence(0.05),
        "what the foreground lost is not known well enough (cpu, vda); at most 5.0% is promised over all: neither proved nor \
         refuted"
    );
}

#[test]
fn a_sum_is_kept_if_all_is_known_and_broken_if_that_is_proved() {
    let keeps = WholeSummary::keeps;
    assert_eq!((keeps(true, true, false), keeps(true, false, false)), (Some(true), None));
    assert_eq!((keeps(false, true, true), keeps(false, true, false)), (Some(false), None));
}
