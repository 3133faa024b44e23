//! Names, lengths, and what is said of them.

use super::*;

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
