//! `lull advise TRACE`: what each interval would have cost a recorded foreground, and which setting to use.

mod page;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use lull_core::{Loss, Nanos};
use lull_sim::advise::{Question, advise, plot};
use lull_sim::trace::{ParseOptions, parse_with};

/// Arguments of `lull advise`.
#[derive(Debug, Args)]
#[command(
    after_help = "Formats, found by themselves: a recording of lull record; a fio latency log (write_lat_log) or \
iolog (write_iolog, with --service); blkparse text; perf script of a recording with -e block:block_rq_issue,block:block_rq_complete.\n\n\
The trace is replayed with its gaps and service times, beside a background that never pauses: the worst case. Exit status 1 \
and a line that names the trace's line if it cannot be read."
)]
pub(crate) struct AdviseArgs {
    /// The trace, or - for standard input.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// Foreground throughput that may be lost, in percent: more lets background do more.
    #[arg(long, value_name = "PERCENT", default_value = "4%")]
    budget: Loss,

    /// Advise for this device of the trace (default: the one with most foreground requests).
    #[arg(long, value_name = "NAME")]
    device: Option<String>,

    /// Requests of this command are background, in blkparse and perf traces. Repeatable.
    ///
    /// Requests with the I/O priority class idle are background anyway, where the trace shows it.
    #[arg(long, value_name = "COMMAND")]
    background: Vec<String>,

    /// Time that a foreground request needs in the device, for iologs, which do not say (like 200us).
    #[arg(long, value_name = "TIME")]
    service: Option<Nanos>,

    /// Time that a background request needs in the device (default: as in the trace, else the foreground's median).
    ///
    /// Larger requests take longer, delay the foreground more, and ask for a longer interval.
    #[arg(long, value_name = "TIME")]
    background_service: Option<Nanos>,

    /// Draw the frontier into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Print all settings that were tried as JSON.
    #[arg(long)]
    json: bool,
}

/// Reads, replays, prints.
pub(crate) fn run(args: &AdviseArgs) -> anyhow::Result<()> {
    let text = read(&args.trace)?;
    let options = ParseOptions { background_commands: args.background.clone() };
    let path = args.trace.display();
    let trace = parse_with(&text, &options).map_err(|error| anyhow!("{path}: {error}"))?;
    let question = Question {
        budget: args.budget,
        device: args.device.clone(),
        service: args.service,
        background_service: args.background_service,
    };
    let advice = advise(&trace, &question).map_err(|error| anyhow!("{path}: {error}"))?;
    if let Some(svg) = &args.svg {
        std::fs::write(svg, plot(&advice)?)
            .with_context(|| format!("cannot write {}: is the directory writable?", svg.display()))?;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&advice)?);
    } else {
        print!("{}", page::page(&advice));
    }
    Ok(())
}

/// The whole trace; bytes that are no text are replaced, so that the line they are in can be named.
fn read(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = std::fs::read(path)
            .with_context(|| format!("cannot read the trace {}: does it exist?", path.display()))?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
