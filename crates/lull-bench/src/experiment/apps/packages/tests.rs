use clap::ValueEnum;

use super::*;

#[test]
fn what_is_there_is_found_and_what_is_not_is_named_once() {
    assert!(find("sh").is_some_and(|path| path.is_absolute()));
    let needs = [("sh", "dash"), ("no-such-program", "one"), ("nor-this", "one")];
    assert_eq!(missing(&needs), ["one"]);
    assert!(line(&["one", "two"]).ends_with(" one two"));
}

#[test]
fn every_application_and_job_has_its_needs() {
    assert!(App::value_variants().iter().all(|app| !of_app(*app).is_empty()));
    let needless: Vec<&AppJob> =
        AppJob::value_variants().iter().filter(|work| of_work(**work).is_empty()).collect();
    assert_eq!(needless, [&AppJob::Memory], "it is a load of our own");
}
