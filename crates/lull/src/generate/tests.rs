//! The pages and scripts of a small command tree with hidden parts.

use clap::{Arg, ArgAction, Command, Parser, ValueHint};

use super::*;

fn tree() -> Command {
    Command::new("lull")
        .version("9.8.7")
        .about("Background work in the gaps")
        .subcommand(
            Command::new("run")
                .about("Run one command")
                .arg(Arg::new("interval").long("interval").help("Preemption interval"))
                .arg(Arg::new("secret").long("secret-switch").hide(true))
                .arg(
                    Arg::new("cmd")
                        .value_hint(ValueHint::CommandWithArguments)
                        .num_args(1..)
                        .trailing_var_arg(true),
                ),
        )
        .subcommand(
            Command::new("bench").subcommand(
                Command::new("disk")
                    .about("Compare")
                    .arg(Arg::new("json").long("json").action(ArgAction::SetTrue)),
            ),
        )
        .subcommand(
            Command::new("load").hide(true).subcommand(Command::new("disk-read").about("Foreground reader")),
        )
}

/// The arguments as the program parses them.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: GenerateArgs,
}

fn generate(what: &str, dir: &Path) {
    let cli = Cli::parse_from(["generate", what, &dir.to_string_lossy()]);
    run(cli.args, tree()).unwrap();
}

fn listing(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn one_page_for_each_visible_command() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("made/on/the/way");
    generate("man", &pages);
    assert_eq!(listing(&pages), ["lull-bench-disk.1", "lull-bench.1", "lull-run.1", "lull.1"]);
}

#[test]
fn pages_name_the_version_the_statuses_and_each_other() {
    let dir = tempfile::tempdir().unwrap();
    generate("man", dir.path());
    let run = fs::read_to_string(dir.path().join("lull-run.1")).unwrap();
    let first = run.lines().find(|l| l.starts_with(".TH")).unwrap();
    assert!(first.contains("lull 9.8.7") && first.contains(MANUAL), "{first}");
    assert!(run.contains(".SH \"EXIT STATUS\"") && run.contains("125") && run.contains("127"));
    assert!(run.contains("lull\\-bench\\-disk(1)") && run.contains("ionice(1)"), "{run}");
    let see = run.split(".SH \"SEE ALSO\"").nth(1).unwrap();
    assert!(!see.contains("run(1), lull"), "a page does not point at itself: {see}");
    let bench = fs::read_to_string(dir.path().join("lull-bench-disk.1")).unwrap();
    assert!(!bench.contains("EXIT STATUS"));
}

#[test]
fn hidden_commands_and_options_are_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    generate("man", dir.path());
    generate("completions", dir.path());
    for name in listing(dir.path()) {
        let text = fs::read_to_string(dir.path().join(&name)).unwrap();
        assert!(
            !text.contains("disk-read") && !text.contains("disk\\-read"),
            "{name} shows a hidden command"
        );
        assert!(name.ends_with(".1") || text.contains("interval"), "{name} lacks an option");
    }
}

#[test]
fn completions_for_three_shells() {
    let dir = tempfile::tempdir().unwrap();
    generate("completions", dir.path());
    assert_eq!(listing(dir.path()), ["_lull", "lull.bash", "lull.fish"]);
    let zsh = fs::read_to_string(dir.path().join("_lull")).unwrap();
    assert!(
        zsh.contains("_cmdambivalent") || zsh.contains("_cmdstring") || zsh.contains("_default"),
        "{zsh}"
    );
}

#[test]
fn an_unwritable_place_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let cli = Cli::parse_from(["generate", "man", &file.join("below").to_string_lossy()]);
    let error = run(cli.args, tree()).unwrap_err();
    assert!(format!("{error:#}").contains("below"), "{error:#}");
}

#[test]
fn what_is_typed_is_bold_and_the_synopsis_is_one_line() {
    assert_eq!(in_bold("`auto` or `none`, not a ` alone"), "\\fBauto\\fR or \\fBnone\\fR, not a ` alone");
    let dir = tempfile::tempdir().unwrap();
    generate("man", dir.path());
    let page = fs::read_to_string(dir.path().join("lull-run.1")).unwrap();
    let (_, after) = page.split_once(".SH SYNOPSIS\n").unwrap();
    let line = after.lines().next().unwrap();
    assert!(line.starts_with("lull run [OPTIONS]"), "{line}");
}
