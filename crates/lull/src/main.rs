//! lull: background work in the gaps that the foreground leaves.

mod advise;
mod cli;
mod doctor;
mod generate;
mod record;
mod run;
mod set;
mod sim;

use std::ffi::OsString;
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
        Command::Generate(args) => generate::run(args, Cli::command()),
        Command::Load(command) => Ok(lull_bench::run_load(command)?),
    }
}

/// An error of clap in one line, for `lull run`, whose standard error belongs to the job's user.
fn one_line(error: &clap::Error) -> String {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && word.starts_with('-')
        && word.chars().nth(1).is_some_and(|first| first.is_ascii_digit())
    {
        return format!("{word}…: nothing that can be set is less than zero");
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let more: Vec<&str> = lines
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.starts_with("For more"))
        .collect();
    if more.is_empty() { first } else { format!("{first} {}", more.join(", ")) }
}

fn main() -> ExitCode {
    let failed = ExitCode::from(u8::try_from(STATUS_LULL_FAILED).unwrap_or(1));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && std::env::args_os().nth(1) == Some(OsString::from("run")) => {
            eprintln!("lull: {}; see lull run --help", one_line(&error));
            return failed;
        }
        Err(error) => error.exit(),
    };
    let is_run = matches!(cli.command, Command::Run(_));
    match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lull: {error:#}");
            if is_run { failed } else { ExitCode::FAILURE }
        }
    }
}
