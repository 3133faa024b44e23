//! Texts that say where values come from, and texts that do not.

use super::*;

#[test]
fn choices_are_told_apart() {
    let choice: SloChoice = "rate: while :; do echo 5; done".parse().unwrap();
    assert!(choice.is_rate);
    let dir = std::env::current_dir().unwrap();
    assert_eq!(choice.source, SloSource::Command { text: "while :; do echo 5; done".to_owned(), dir });
    let choice: SloChoice = "http://localhost:9/metrics p99_seconds".parse().unwrap();
    let page =
        SloSource::Page { url: "http://localhost:9/metrics".to_owned(), metric: "p99_seconds".to_owned() };
    assert_eq!((choice.source, choice.is_rate), (page, false));
    for text in ["http://[::1]:9090/m lat{q=\"0.9 of\"}", "http://localhost/m m", "http://u:p@10.0.0.1/ m"] {
        assert!(text.parse::<SloChoice>().is_ok(), "{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_the_next_step() {
    for (text, hint) in [
        ("", "command"),
        ("rate:", "command"),
        ("http://x/m", "names no metric"),
        ("http:// m", "has no address"),
        ("http://localhost:99999/ m", "has no address"),
        ("http://localhost:x/ m", "has no address"),
        ("http://localhost/ a b", "single metric"),
        ("https://x m", "curl"),
        ("ftp://x y", "curl"),
    ] {
        let error = text.parse::<SloChoice>().unwrap_err();
        assert!(error.contains(hint), "{text}: {error}");
    }
}
