//! `lull sim run FILE`: a scenario, as a table or as JSON.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use lull_core::Nanos;
use lull_sim::scenario::{ClassResult, ResourceResult, parse};

use lull_engine::report::disk::bound_text;

/// Arguments of `lull sim run`.
#[derive(Debug, Args)]
pub(super) struct ScenarioArgs {
    /// The scenario, a TOML file; examples are in examples/scenarios.
    #[arg(value_name = "FILE")]
    scenario: PathBuf,

    /// Use this seed instead of the scenario's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ScenarioArgs) -> anyhow::Result<()> {
    let path = args.scenario.display();
    let text = std::fs::read_to_string(&args.scenario)
        .with_context(|| format!("cannot read the scenario {path}: does it exist?"))?;
    let mut scenario = parse(&text).map_err(|error| anyhow!("{path}: {error}"))?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let results = scenario.run();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&results)?);
    } else {
        print!("{}", table(&results));
    }
    Ok(())
}

/// Each resource with its classes.
pub(super) fn table(results: &[ResourceResult]) -> String {
    let mut text = String::new();
    for result in results {
        text += &format!(
            "{}: {}; interval {}, {}; {} foreground requests met background in service, {} came while the \
             interval kept it away\n",
            result.name,
            lost(result.foreground_loss),
            result.interval,
            bound_text(result.depth, result.window_bytes),
            result.preemptions,
            result.kept_free
        );
        text += "                        requests/s       MB/s   busy       mean        p50        p99  dropped\n";
        for (name, class) in [
            ("foreground", &result.foreground),
            ("foreground alone", &result.foreground_alone),
            ("background", &result.background),
        ] {
            text += &line(name, class);
        }
    }
    text
}

/// The loss of throughput in words: with other think times, chance may make it a gain.
fn lost(share: f64) -> String {
    if share < 0.0 {
        "foreground lost no throughput".to_owned()
    } else {
        format!("foreground lost {:.1}% of its throughput", share * 100.0)
    }
}

fn line(name: &str, class: &ClassResult) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string());
    format!(
        "  {name:<20} {:>11.1} {:>10.3} {:>5.1}% {:>10} {:>10} {:>10} {:>8}\n",
        class.requests_per_s,
        class.bytes_per_s / 1e6,
        class.busy * 100.0,
        time(class.mean_ns),
        time(class.p50_ns),
        time(class.p99_ns),
        class.dropped
    )
}
