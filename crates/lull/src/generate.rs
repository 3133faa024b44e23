//! Man pages and shell completions, made from the command line's own definition.
//!
//! Problem: pages and completions written by hand drift from the options the program takes.
//! Approach: `lull generate man DIR` and `lull generate completions DIR` (both hidden: `make install` calls them)
//! walk the clap command tree and write one roff page per visible command and one completion script per shell.
//! The sections that clap knows nothing of, EXIT STATUS and SEE ALSO, are added here.
//!
//! Edge cases: hidden commands (load generators, this one) get neither a page nor a completion. clap_complete does
//! not leave them out by itself, so completions are made from a copy of the tree without them. `DIR` is made if
//! it is missing; files of the same name are replaced.
//!
//! Source: man-pages(7) for the order and names of the sections.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command, Subcommand};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

#[cfg(test)]
mod tests;

/// Arguments of `lull generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

/// What to generate, and where to.
#[derive(Debug, Subcommand)]
enum What {
    /// Write one man page per command.
    Man {
        /// Directory for the pages; made if missing.
        dir: PathBuf,
    },
    /// Write completions for bash (lull.bash), zsh (_lull) and fish (lull.fish).
    Completions {
        /// Directory for the scripts; made if missing.
        dir: PathBuf,
    },
}

/// The manual that every page belongs to, shown in the middle of its header.
const MANUAL: &str = "lull manual";

/// Pages of other packages that every page of lull points at.
const RELATED: [&str; 5] = ["chrt(1)", "ionice(1)", "nice(1)", "systemd-run(1)", "cgroups(7)"];

/// Exit statuses of `lull run`, as env(1) and nice(1) have them.
const EXIT_STATUS: [(&str, &str); 5] = [
    ("125", "lull itself failed, or was given a wrong option"),
    ("126", "the command was found but could not be run"),
    ("127", "the command was not found"),
    ("128+N", "as the shell shows it: signal N ended the command, and lull ended itself by the same signal"),
    ("any other", "the exit status of the command"),
];

/// Writes what was asked for into its directory. `command` is the whole program's definition.
pub(crate) fn run(args: GenerateArgs, command: Command) -> anyhow::Result<()> {
    match args.what {
        What::Man { dir } => man_pages(command, &dir),
        What::Completions { dir } => completions(&command, &dir),
    }
}

/// One page for `command` and for each visible command below it.
fn man_pages(command: Command, dir: &Path) -> anyhow::Result<()> {
    make_dir(dir)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
    let mut commands = Vec::new();
    collect_visible(&command, &mut commands);
    let names: Vec<String> = commands.iter().map(|c| page_name(c)).collect();
    for (command, name) in commands.into_iter().zip(&names) {
        let path = dir.join(format!("{name}.1"));
        let page = man_page(command, &source, name, &names);
        page.and_then(|text| fs::write(&path, text))
            .with_context(|| format!("cannot write {}: is the directory writable?", path.display()))?;
    }
    Ok(())
}

/// The roff text of one page.
fn man_page(command: &Command, source: &str, name: &str, all: &[String]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let man = Man::new(command.clone()).source(source).manual(MANUAL);
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    synopsis(command).to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if command.get_after_help().is_some() || command.get_after_long_help().is_some() {
        man.render_extra_section(&mut text)?;
    }
    let mut more = Roff::new();
    if command.get_name() == "run" {
        more.control("SH", ["EXIT STATUS"]);
        for (status, meaning) in EXIT_STATUS {
            more.control("TP", []);
            more.text([bold(status)]);
            more.text([roman(meaning)]);
        }
    }
    more.control("SH", ["SEE ALSO"]);
    let ours = all.iter().filter(|other| *other != name).map(|other| format!("{other}(1)"));
    let see: Vec<String> = ours.chain(RELATED.map(String::from)).collect();
    more.text([roman(see.join(", "))]);
    more.to_writer(&mut text)?;
    Ok(in_bold(&String::from_utf8_lossy(&text)).into_bytes())
}

/// The line that `--help` has, too: with every option in it, it would be a paragraph.
fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let mut section = Roff::new();
    section.control("SH", ["SYNOPSIS"]);
    section.text([roman(usage.trim_start_matches("Usage:").trim())]);
    section
}

/// Help texts mark what is typed with backticks; pages set it in bold.
fn in_bold(text: &str) -> String {
    let mut pieces = text.split('`');
    let mut page = pieces.next().unwrap_or_default().to_owned();
    while let Some(typed) = pieces.next() {
        match pieces.next() {
            Some(rest) => page += &format!("\\fB{typed}\\fR{rest}"),
            None => page += &format!("`{typed}"),
        }
    }
    page
}

/// `command` and all commands below it, hidden ones and what is below them left out.
fn collect_visible<'a>(command: &'a Command, into: &mut Vec<&'a Command>) {
    into.push(command);
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        collect_visible(below, into);
    }
}

/// `lull`, `lull-run`, `lull-bench-disk`: known once the tree is built.
fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// Completion scripts for the three usual shells.
fn completions(command: &Command, dir: &Path) -> anyhow::Result<()> {
    make_dir(dir)?;
    let name = command.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut visible = without_hidden(command);
        generate_to(shell, &mut visible, &name, dir)
            .with_context(|| format!("cannot write the {shell} completions into {}", dir.display()))?;
    }
    Ok(())
}

/// A copy of the tree without hidden commands, with all that completions are made from.
fn without_hidden(command: &Command) -> Command {
    let mut copy = Command::new(forever(command.get_name()))
        .disable_help_subcommand(command.is_disable_help_subcommand_set())
        .disable_help_flag(command.is_disable_help_flag_set())
        .disable_version_flag(command.is_disable_version_flag_set())
        .args(command.get_arguments().cloned())
        .visible_aliases(command.get_visible_aliases().map(forever));
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(forever(version));
    }
    let below = command.get_subcommands().filter(|c| !c.is_hide_set()).map(without_hidden);
    copy.subcommands(below)
}

/// clap keeps names as static text. The few that are copied live until the process ends, which is next.
fn forever(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn make_dir(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", dir.display()))
}
