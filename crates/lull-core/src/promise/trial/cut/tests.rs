use super::*;

fn levels(lent: &[f64], withheld: &[f64]) -> Levels {
    let mut levels = Levels::default();
    for (lent, withheld) in lent.iter().zip(withheld) {
        levels.add(*lent, *withheld);
    }
    levels
}

#[test]
fn there_is_no_limit_before_both_arms_are_known() {
    assert_eq!(levels(&[1.0; 7], &[1.0; 7]).limit(), f64::INFINITY);
    assert_eq!(levels(&[1.0; 24], &[0.0; 24]).limit(), f64::INFINITY, "levels of zero do not count");
    assert_eq!(levels(&[1.0; 8], &[1.0; 8]).limit(), 2.0);
}

#[test]
fn stalls_do_not_raise_it_and_steady_harm_does() {
    let mut stalled = [1.0; 24];
    stalled[3] = 500.0;
    stalled[17] = 900.0;
    assert_eq!(levels(&stalled, &[1.0; 24]).limit(), 2.0);
    assert_eq!(levels(&[6.0; 24], &[1.0; 24]).limit(), 12.0);
}

#[test]
fn it_is_farther_away_where_levels_scatter() {
    let scattered: Vec<f64> = (0..24).map(|i| 0.5 + f64::from(i) / 24.0).collect();
    let limit = levels(&scattered, &[1.0; 24]).limit();
    assert!((2.5..3.5).contains(&limit), "{limit}");
}
