use super::*;

const DISK: &str = include_str!("../../../../examples/scenarios/disk.toml");

#[test]
fn every_example_is_read_and_runs() {
    for (name, text) in [
        ("disk", DISK),
        ("ssd", include_str!("../../../../examples/scenarios/ssd.toml")),
        ("link", include_str!("../../../../examples/scenarios/link.toml")),
        ("cpu", include_str!("../../../../examples/scenarios/cpu.toml")),
        ("bucket", include_str!("../../../../examples/scenarios/bucket.toml")),
        ("smart", include_str!("../../../../examples/scenarios/smart.toml")),
        ("manners", include_str!("../../../../examples/scenarios/manners.toml")),
    ] {
        let scenario = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let results = scenario.run();
        assert_eq!(results, scenario.run(), "{name}: the same each time");
        for result in &results {
            assert!(result.foreground.requests_per_s > 0.0, "{name}: {result:?}");
            assert!(result.background.requests_per_s > 0.0, "{name}: {result:?}");
            assert!(result.foreground_loss < 0.5, "{name}: {result:?}");
        }
    }
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    for (from, to) in [
        ("length", "lenght"),
        ("interval = ", "intervall = "),
        ("think = ", "thonk = "),
        ("kind = \"disk\"", "kind = \"disk\", seek = \"5ms\""),
    ] {
        let text = DISK.replacen(from, to, 1);
        assert_ne!(text, DISK, "{from}");
        let line = 1 + text.lines().position(|line| line.contains(to)).unwrap();
        let error = parse(&text).unwrap_err().to_string();
        assert!(
            error.contains(&format!("line {line}")) && error.contains(to.split([' ', ',']).next().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn impossible_scenarios_are_told() {
    let error = parse(&DISK.replace("resource = \"disk\"", "resource = \"dusk\"")).unwrap_err().to_string();
    assert!(error.contains("'dusk'") && error.contains("disk"), "{error}");
    let twice = format!("{DISK}\n[[resource]]\nname = \"disk\"\ndevice = {{ kind = \"disk\" }}\n");
    assert!(parse(&twice).unwrap_err().to_string().contains("twice"));
    assert!(
        parse(&DISK.replace("length = \"60s\"", "length = \"0\""))
            .unwrap_err()
            .to_string()
            .contains("length")
    );
}
