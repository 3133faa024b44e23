use super::*;

#[test]
fn what_lull_could_not_have_is_noted_and_its_run_has_no_such_part() {
    let directory = tempfile::tempdir().unwrap();
    let summary_file = SummaryFile::create(directory.path()).unwrap();
    let mut notes = Vec::new();
    assert_eq!(summary_file.read(&mut notes), None);
    assert!(notes[0].contains("no summary that can be read"), "{notes:?}");
    let counts = |contender| summary_file.of(&contender, &mut Vec::new()).1;
    assert!(counts(Contender::Unmanaged), "who is no run of lull has none");
    assert!(!counts(Contender::Lull(Vec::new())) && !counts(Contender::Policy("smart")));

    let file = summary_file.flags()[3].clone();
    std::fs::write(
        &file,
        r#"{"is_complete": true, "net": null, "cpu": {}, "unmet": ["net: no BPF"], "notes": ["slow"]}"#,
    )
    .unwrap();
    notes.clear();
    let summary = summary_file.read(&mut notes);
    assert_eq!(notes, ["lull: net: no BPF", "lull: slow"]);
    assert!(summary.is_some());
    let mut had = |contender, part| summary_file.had(&contender, part, &mut notes);
    assert!(had(Contender::Lull(Vec::new()), "cpu") && !had(Contender::Lull(Vec::new()), "net"));
    assert!(had(Contender::Unmanaged, "net"));
    assert!(counts(Contender::Lull(Vec::new())) && counts(Contender::Policy("smart")));

    std::fs::write(&file, r#"{"is_complete": false}"#).unwrap();
    notes.clear();
    assert!(summary_file.read(&mut notes).is_some() && notes.len() == 1, "{notes:?}");
    assert!(!counts(Contender::Lull(Vec::new())), "its supervisor was gone");
}

#[test]
fn only_summaries_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let summary_file = SummaryFile::create(directory.path()).unwrap();
    std::fs::write(directory.path().join("raw.jsonl"), "").unwrap();
    sweep(directory.path());
    assert!(!Path::new(&summary_file.flags()[3]).exists() && directory.path().join("raw.jsonl").exists());
}
