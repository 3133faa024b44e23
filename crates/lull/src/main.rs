//! lull: background work in the gaps that the foreground leaves.

mod advise;
mod cli;
mod condor;
mod doctor;
mod generate;
mod guests;
mod record;
mod reserve;
mod run;
mod set;
mod sim;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use cli::{Bench, Cli, Command};
use lull_linux::job::launch::STATUS_LULL_FAILED;

/// What load generators and contenders put before their own words to start this program again.
fn own_program() -> anyhow::Result<lull_bench::Program> {
    Ok(lull_bench::Program::new(std::env::current_exe()?))
}

fn dispatch(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Run(args) => match run::run(&args)? {},
        Command::Set(args) => set::run(&args),
        Command::Reserve(args) => reserve::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => match args.what {
            Bench::Disk(args) => Ok(lull_bench::run_disk(&args, &own_program()?)?),
            Bench::Cpu(args) => Ok(lull_bench::run_cpu(&args, &own_program()?)?),
            Bench::Net(args) => Ok(lull_bench::run_net(&args, &own_program()?)?),
            Bench::Memory(args) => Ok(lull_bench::run_memory(&args, &own_program()?)?),
            Bench::Apps(args) => Ok(lull_bench::run_apps(&args, &own_program()?)?),
            Bench::Compare(args) => Ok(lull_bench::run_compare(&args)?),
            Bench::Report(args) => Ok(lull_bench::run_report(&args)?),
        },
        Command::Demo(args) => Ok(lull_bench::run_demo(&args, &own_program()?)?),
        Command::Sim(args) => sim::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Condor(args) => condor::run(args),
        Command::Generate(args) => generate::run(args, Cli::command()),
        Command::Load(command) => Ok(lull_bench::run_load(command)?),
    }
}

/// Whether a command only tells something: then its reader may go at any time, as with `| head`.
const fn only_tells(command: &Command) -> bool {
    match command {
        Command::Sim(_) | Command::Advise(_) => true,
        Command::Reserve(args) => args.is_show(),
        Command::Bench(args) => matches!(args.what, Bench::Compare(_) | Bench::Report(_)),
        _ => false,
    }
}

/// Lets a write to a pipe that nobody reads end this process quietly, as other tools do; Rust's start-up ignored the signal.
fn end_with_reader() {
    // SAFETY: a plain disposition, before any thread was started.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Commands whose mistakes are told in one line, and their exit status then: standard error of `lull run` belongs to the job's user,
/// `lull set` is for scripts.
const TERSE: [(&str, i32); 2] = [("run", STATUS_LULL_FAILED), ("set", STATUS_MISUSED as i32)];

/// Exit status of a command that was given what it does not take, as clap has it.
const STATUS_MISUSED: u8 = 2;

/// An error of clap about these words in one line.
fn one_line(error: &clap::Error, words: &[String]) -> String {
    if let Some(negative) = negative(error, words) {
        return negative;
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut has_tip = false;
    for more in lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")) {
        match more.strip_prefix("tip: ") {
            // What stands before CMD is lull's.
            Some(tip) if tip.starts_with("to pass ") => {}
            Some(tip) => {
                has_tip = true;
                line += &format!("; {tip}");
            }
            None => line += &format!(" {more}"),
        }
    }
    let is_run = words.get(1).is_some_and(|command| command == "run");
    if is_run && !has_tip && error.kind() == ErrorKind::UnknownArgument {
        line += "; options of the command come after its name";
    }
    line
}

/// A value below zero looks like an option.
fn negative(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_number = unknown.strip_prefix('-')?.starts_with(|first: char| first.is_ascii_digit());
    if error.kind() != ErrorKind::UnknownArgument || !is_number {
        return None;
    }
    let at = words.iter().position(|word| word.starts_with(unknown.as_str()))?;
    let option = words.get(at.checked_sub(1)?).filter(|word| word.starts_with("--"));
    let what = option.map_or_else(String::new, |option| format!("{option} "));
    Some(format!("{what}{}: nothing that can be set is less than zero", words.get(at)?))
}

fn main() -> ExitCode {
    let failed = ExitCode::from(u8::try_from(STATUS_LULL_FAILED).unwrap_or(1));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let words: Vec<String> =
                std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
            let terse = TERSE.into_iter().find(|(name, _)| words.get(1).is_some_and(|word| word == name));
            let Some((name, status)) = terse.filter(|_| error.use_stderr()) else {
                let Some(line) = negative(&error, &words) else { error.exit() };
                eprintln!("lull: {line}");
                return ExitCode::from(STATUS_MISUSED);
            };
            eprintln!("lull: {}; see lull {name} --help", one_line(&error, &words));
            return ExitCode::from(u8::try_from(status).unwrap_or(1));
        }
    };
    let becomes_command = match &cli.command {
        Command::Run(_) => true,
        Command::Reserve(args) => args.is_exec(),
        _ => false,
    };
    if only_tells(&cli.command) {
        end_with_reader();
    }
    match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lull: {error:#}");
            let of_bench = error.downcast_ref().map(lull_bench::Error::exit_status);
            if becomes_command { failed } else { of_bench.map_or(ExitCode::FAILURE, ExitCode::from) }
        }
    }
}
