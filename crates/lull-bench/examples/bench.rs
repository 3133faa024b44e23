//! The crate's entry points as a small program, for work on the crate itself: `bench load …`, `bench disk …`,
//! `bench report …`, `bench demo …`. Load generators are started as processes of this program; `LULL` in the environment
//! names the lull binary whose `run` is measured.

use std::process::ExitCode;

use clap::Parser;
use lull_bench::{
    DemoArgs, DiskArgs, Error, LoadCommand, Program, ReportArgs, run_demo, run_disk, run_load, run_report,
};

#[derive(Parser)]
enum Command {
    /// One load generator.
    #[command(subcommand)]
    Load(LoadCommand),
    /// The disk experiments.
    Disk(DiskArgs),
    /// Tables and pictures of earlier runs.
    Report(ReportArgs),
    /// The show.
    Demo(DemoArgs),
}

fn program() -> Result<Program, Error> {
    let exe = std::env::current_exe().map_err(|cause| Error::System { doing: "find this program", cause })?;
    let program = Program::new(exe);
    Ok(match std::env::var_os("LULL") {
        Some(lull) => program.with_runner(lull.into()),
        None => program,
    })
}

fn run() -> Result<(), Error> {
    match Command::parse() {
        Command::Load(command) => run_load(command),
        Command::Disk(args) => run_disk(&args, &program()?),
        Command::Report(args) => run_report(&args),
        Command::Demo(args) => run_demo(&args, &program()?),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(125)
        }
    }
}
