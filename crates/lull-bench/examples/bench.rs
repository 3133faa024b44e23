//! The crate's entry points as a small program, for work on the crate itself: `bench load …`, `bench disk …`,
//! `bench report …`, `bench demo …`. Load generators are started as processes of this program.

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

fn run() -> Result<(), Error> {
    let program = || {
        std::env::current_exe()
            .map(Program::new)
            .map_err(|source| Error::System { doing: "find this program", source })
    };
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
