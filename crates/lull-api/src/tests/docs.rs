//! The table of options as documents show it.

use std::fmt::Write;

use clap::{Arg, Command};

use crate::options::{parted, without_default};

/// What begins the last paragraph of a row.
pub(super) const TRADE_OFF: &str = "Trade-off:";

/// A row, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// `--name UNIT`
    pub(super) usage: String,
    /// What is so if nothing is said, if that can be said.
    pub(super) default: Option<String>,
    /// What it does.
    pub(super) effect: String,
    /// What else there is to know.
    pub(super) details: String,
    /// What is lost for what is won.
    pub(super) trade_off: Option<String>,
}

/// What follows an option's name: its unit, or the words that it takes.
pub(super) fn unit(option: &Arg) -> Option<String> {
    if !option.get_action().takes_values() {
        return None;
    }
    let names = option.get_value_names().unwrap_or_default().join(" ");
    // The name that nobody has given.
    let is_derived = names == option.get_id().as_str().to_uppercase();
    let words: Vec<_> = option.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
    Some(if is_derived { words.join("|") } else { names })
}

impl Row {
    /// The parts of an option.
    pub(super) fn of(option: &Arg) -> Self {
        let short = option.get_help().map(ToString::to_string).unwrap_or_default();
        let help = option.get_long_help().map_or_else(|| short.clone(), ToString::to_string);
        let mut paragraphs: Vec<&str> = help.split("\n\n").collect();
        let trade_off = paragraphs.pop_if(|last| last.starts_with(TRADE_OFF));
        let trade_off = trade_off.map(|text| text.trim_start_matches(TRADE_OFF).trim().to_owned());
        let (effect, derived) = parted(paragraphs.first().copied().unwrap_or_default());
        let values = option.get_default_values();
        let stated =
            || values.iter().map(|value| format!("`{}`", value.display())).collect::<Vec<_>>().join(", ");
        let is_flag = !option.get_action().takes_values();
        let default = derived.map(str::to_owned).or_else(|| match is_flag {
            true => Some("off".to_owned()),
            false => (!values.is_empty()).then(stated),
        });
        let name = option.get_long().unwrap_or_default();
        let is_bare = option.is_require_equals_set();
        let usage = match (option.get_short(), unit(option)) {
            (Some(short), _) => format!("-{short}, --{name}"),
            (None, None) => format!("--{name}"),
            (None, Some(unit)) if is_bare => format!("--{name}[={unit}]"),
            (None, Some(unit)) => format!("--{name} {unit}"),
        };
        let details = paragraphs.get(1..).unwrap_or_default().join(" ");
        Self { usage, default, effect: effect.to_owned(), details, trade_off }
    }
}

/// The options of `command` that are shown and have a name, by heading, in Markdown.
pub(super) fn tables(command: &Command) -> String {
    let options =
        || command.get_arguments().filter(|option| option.get_long().is_some() && !option.is_hide_set());
    let mut headings: Vec<&str> = options().filter_map(Arg::get_help_heading).collect();
    headings.dedup();
    let mut text = String::new();
    for heading in headings {
        let _ = write!(
            text,
            "### {heading}\n\n| option | default | what it does | trade-off |\n|---|---|---|---|\n"
        );
        for option in options().filter(|option| option.get_help_heading() == Some(heading)) {
            let Row { usage, default, effect, details, trade_off } = Row::of(option);
            let cell = |text: &str| text.replace('|', "\\|");
            let default = default.unwrap_or_else(|| "–".to_owned());
            let meaning = format!("{effect} {details}");
            let trade_off = trade_off.unwrap_or_default();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                cell(&usage),
                cell(&default),
                cell(meaning.trim()),
                cell(&trade_off)
            );
        }
        text.push('\n');
    }
    text
}

fn option() -> Arg {
    Arg::new("keep").long("keep").value_name("SIZE")
}

#[test]
fn a_row_is_taken_apart() {
    let help = "What stays. [default: 64MiB or more]\n\nThe rest goes.\n\nTrade-off: less is slower.";
    let row = Row::of(&option().long_help(help));
    assert_eq!((row.usage.as_str(), row.default.as_deref()), ("--keep SIZE", Some("64MiB or more")));
    assert_eq!((row.effect.as_str(), row.details.as_str()), ("What stays.", "The rest goes."));
    assert_eq!(row.trade_off.as_deref(), Some("less is slower."));
    let stated = Row::of(&option().help("What stays").default_value("5%"));
    assert_eq!((stated.default.as_deref(), stated.trade_off), (Some("`5%`"), None));
}

#[test]
fn who_changes_a_run_is_told_no_default() {
    let option = without_default(option().help("What stays. [default: 0]").long_help("Much more"));
    assert_eq!(option.get_help().unwrap().to_string(), "What stays");
    assert!(option.get_long_help().is_none());
}
