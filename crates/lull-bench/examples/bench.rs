//! tmp
use clap::Parser;
use lull_bench::{LoadCommand, run_load};
#[derive(Parser)]
enum Command {
    /// load
    #[command(subcommand)]
    Load(LoadCommand),
}
fn main() {
    let Command::Load(c) = Command::parse();
    if let Err(e) = run_load(c) {
        eprintln!("{e}");
        std::process::exit(125)
    }
}
