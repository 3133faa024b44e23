//! The definition, and what bad words are told.

use super::Cli;
use clap::{CommandFactory, Parser};

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn options_after_the_command_are_the_commands_own() {
    let cli = Cli::try_parse_from(["lull", "run", "--interval", "5ms", "tar", "--json", "-q"]).unwrap();
    let super::Command::Run(args) = cli.command else { panic!("not run") };
    assert_eq!(args.command, ["tar", "--json", "-q"]);
    assert!(!args.this.json && !args.this.quiet);
}

#[test]
fn bad_values_are_told_with_their_option() {
    for words in
        [["--interval", "5"], ["--depth", "0"], ["--variant", "bb"], ["--gate", "most"], ["--start", "x"]]
    {
        let error = Cli::try_parse_from(["lull", "run", words[0], words[1], "true"]).unwrap_err().to_string();
        assert!(error.contains(words[0]) && error.contains(words[1]), "{error}");
    }
}
