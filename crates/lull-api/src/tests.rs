//! The table: each row is whole, says the same in every place, and is what the documents show.

mod docs;

use std::path::Path;

use clap::{Arg, Args, Command};

use crate::file::parse;
use crate::given::command;
use crate::options::ThisRun;
use crate::{Given, Said};
use docs::{Row, tables, unit};

/// Something that an option of this unit takes, for one whose default is worked out.
fn sample(unit: &str) -> &'static str {
    match unit {
        "SIZE" => "64MiB",
        "TIME|off" => "off",
        "true|false" => "false",
        "PID|UNIT|CGROUP" | "UNIT|CGROUP" => "a.service",
        "CMD|URL METRIC" => "date +%s",
        "disk,cpu,memory,net" => "disk",
        "NAME" => "vda",
        "FIRST-LAST" => "6881-6889",
        "ADDRESS" => "10.0.0.7",
        "MARK[/MASK]" => "0x10/0xff",
        "INTERFACE[:RATE]" => "eth0:90mbit",
        other => panic!("a unit that is new: {other}; add a sample"),
    }
}

fn given(line: &[&str], file: &str) -> String {
    let given = Given::new(Said::by(line.iter().copied()).unwrap(), parse(file).unwrap()).unwrap();
    format!("{:?}", given.options)
}

fn rows() -> Vec<Arg> {
    command().get_arguments().cloned().collect()
}

#[test]
fn the_table_is_consistent() {
    command().debug_assert();
    assert!(rows().len() > 25);
}

#[test]
fn each_row_has_effect_unit_default_and_trade_off() {
    for option in rows() {
        let name = option.get_long().unwrap();
        let row = Row::of(&option);
        assert!(row.effect.len() > 20 && row.effect.ends_with(['.', '`']), "{name}: {}", row.effect);
        assert!(
            !row.details.contains("(default"),
            "{name}: the default stands in the first paragraph or in default_value"
        );
        assert!(row.default.is_some_and(|default| !default.is_empty()), "{name} has no default");
        assert!(
            row.trade_off.is_some_and(|text| text.len() > 10),
            "{name}: the last paragraph is no trade-off"
        );
        if let Some(unit) = unit(&option) {
            assert!(!unit.is_empty(), "{name} has no unit");
        }
        assert!(option.get_help_heading().is_some(), "{name} is in no group");
    }
}

#[test]
fn each_row_says_the_same_on_the_command_line_and_in_the_file() {
    let nothing = given(&[], "");
    for option in rows() {
        let name = option.get_long().unwrap();
        let Some(unit) = unit(&option) else {
            let said = given(&[&format!("--{name}")], "");
            assert_eq!(given(&[], &format!("[run]\n{name} = true\n")), said);
            assert_eq!(given(&[], &format!("[run]\n{name} = false\n")), nothing);
            assert_ne!(said, nothing, "{name}");
            continue;
        };
        let stated = option.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
        let value = stated.clone().unwrap_or_else(|| sample(&unit).to_owned());
        let said = given(&[&format!("--{name}={value}")], "");
        assert_eq!(given(&[], &format!("[run]\n{name} = \"{value}\"\n")), said, "{name}");
        assert_eq!(said == nothing, stated.is_some(), "{name}: the default is what is so if nothing is said");
    }
}

#[test]
fn the_documents_show_the_table() {
    const MARKS: [&str; 2] = [
        "<!-- The table of options, as `UPDATE=1 cargo test -p lull-api` writes it. -->\n",
        "<!-- End of the table. -->\n",
    ];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (shown, after) = rest.split_once(MARKS[1]).unwrap();
    let whole = ThisRun::augment_args(Said::augment_args(Command::new("run")));
    let table = format!("\n{}", tables(&whole));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, [before, MARKS[0], &table, MARKS[1], after].concat()).unwrap();
    } else {
        assert_eq!(
            shown, table,
            "docs/run.md is not what the table says: run UPDATE=1 cargo test -p lull-api"
        );
    }
}
