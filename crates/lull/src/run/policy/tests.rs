use super::*;
use crate::run::settings::parse;

#[test]
fn policies_have_names_and_lengths() {
    assert_eq!("idletime".parse(), Ok(PolicyChoice::Idletime));
    assert_eq!("smart".parse(), Ok(PolicyChoice::Smart(SmartSetting::default())));
    let second = SmartSetting::with_window(Nanos::from_secs(1));
    assert_eq!("smart:1s".parse(), Ok(PolicyChoice::Smart(second)));
    assert!(
        matches!("manners:200ms".parse(), Ok(PolicyChoice::Manners(setting)) if setting.sample == Nanos::from_millis(200))
    );
    for (text, word) in [
        ("smarter", "smarter"),
        ("smart:1", "unit"),
        ("smart:1ms", "too short"),
        ("idletime:1s", "no policy"),
    ] {
        let error = text.parse::<PolicyChoice>().unwrap_err();
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn who_holds_the_job_first_says_for_how_long() {
    let said = |text: &str| text.parse::<PolicyChoice>().unwrap().forewarning();
    assert!(said("smart").unwrap().starts_with("smart holds the job for 60s first, "), "{:?}", said("smart"));
    assert!(said("smart:500ms").unwrap().contains("for 3s first"), "{:?}", said("smart:500ms"));
    assert_eq!([said("idletime"), said("manners")], [None, None]);
}

#[test]
fn the_file_may_name_a_policy_and_the_command_line_wins() {
    let file = || parse("[run]\npolicy = \"smart:1s\"\ninterval = \"5ms\"\n").unwrap();
    let settings = Given::default().over(file()).unwrap();
    assert_eq!(settings.policy.name(), "smart");
    assert!(!settings.watches_disks && settings.cpu.is_none() && settings.hold.is_none());
    let given = Given { policy: Some(PolicyChoice::Idletime), ..Given::default() };
    assert!(given.over(file()).unwrap().watches_disks);
}

#[test]
fn options_of_another_policy_are_refused_by_name() {
    let given = Given {
        policy: Some("manners".parse().unwrap()),
        slo: Some("true".parse().unwrap()),
        ..Given::default()
    };
    let error = given.over(Given::default()).unwrap_err().to_string();
    assert!(error.contains("--slo") && error.contains("manners"), "{error}");
}
