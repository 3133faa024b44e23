use super::*;

fn run(round: u32) -> Record {
    Record::Run(Run {
        case: "parallel".to_owned(),
        contender: "lull".to_owned(),
        round,
        position: 0,
        command: Some("lull run -- x".to_owned()),
        foreground: None,
        background: Some(Background { bytes: 10, window_s: 2.0, ..Background::default() }),
        counted: true,
        notes: Vec::new(),
        ..Run::default()
    })
}

#[test]
fn appended_lines_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/out");
    Writer::open(&out).unwrap().append(&run(1)).unwrap();
    Writer::open(&out).unwrap().append(&run(2)).unwrap();
    assert_eq!(read(&out).unwrap(), [run(1), run(2)]);
}

#[test]
fn a_cut_off_last_line_costs_only_itself_and_a_bad_line_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    writer.append(&run(1)).unwrap();
    writer.file.write_all(br#"{"record":"run","case":"para"#).unwrap();
    assert_eq!(read(dir.path()).unwrap(), [run(1)]);

    std::fs::write(dir.path().join(FILE_NAME), "\n{\"record\":\"walk\"}\n{}\n").unwrap();
    let error = read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("raw.jsonl:2: not a record"), "{error}");
}

#[test]
fn rates_are_per_second_of_the_window() {
    let background = Background { bytes: 3_000, window_s: 1.5, ..Background::default() };
    assert_eq!(background.rate(), 2_000.0);
    assert_eq!(Background::default().rate(), 0.0);
}

#[test]
fn an_overrun_is_written_and_records_of_older_versions_have_none() {
    let Record::Run(plain) = run(1) else { unreachable!() };
    let text = serde_json::to_string(&plain).unwrap();
    assert!(!text.contains("overrun"), "{text}");
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), plain);
    let overrun = Run { overrun: true, ..plain };
    let text = serde_json::to_string(&overrun).unwrap();
    assert!(text.contains("\"overrun\":true"), "{text}");
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), overrun);
}
