//! `lull sim`: the paper's figures, the comparison of policies, and scenarios of one's own, simulated.
//!
//! The simulator computes; this module reads and writes files, spreads rows over the machine's CPUs and prints. Rows do
//! not depend on each other and are put together in their order, so the number of CPUs changes nothing in the output.

mod cluster;
mod report;
mod reserve;
mod scenario;
mod spread;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use lull_core::{Nanos, Variant};
use lull_sim::compare::{self, Comparison, Convergence};
use lull_sim::figures::claims::{Claim, judge};
use lull_sim::figures::variants::{self, Point};
use lull_sim::figures::{Effort, Figure, Grid, plot};

use spread::spread;

/// Arguments of `lull sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    what: What,
}

/// What to simulate.
#[derive(Debug, Subcommand)]
enum What {
    /// The ideal scheduler (figure 7 of the paper).
    Fig7(FigureArgs),
    /// A spinning disk with random reads (figure 8).
    Fig8(FigureArgs),
    /// UDP beside UDP at 1 Gb/s (figure 9).
    Fig9(FigureArgs),
    /// TCP beside UDP at 1 Gb/s (figure 11).
    Fig11(FigureArgs),
    /// TCP beside UDP at 100 Mb/s with 10 ms each way (figure 12).
    Fig12(FigureArgs),
    /// The four variants of the machine (appendix A), simulated and computed.
    Variants(FigureArgs),
    /// Automatic control against AIMD, a leaky bucket and every fixed interval.
    Auto(FigureArgs),
    /// All figures and comparisons, with a page that says what holds.
    All(FigureArgs),
    /// A scenario from a TOML file: devices, workloads and policies of your own.
    Run(scenario::ScenarioArgs),
    /// A pool of nodes that have owners: guests that linger, move, are evicted or suspended.
    Cluster(Box<cluster::ClusterArgs>),
    /// Two sites on one server with reserved shares: CPU, disk, output link, input (Eclipse/BSD, figures 4 to 9).
    Reserve(Box<reserve::ReserveArgs>),
}

/// How a figure is made.
#[derive(Clone, Debug, Args)]
struct FigureArgs {
    /// Directory for the pictures (SVG) and points (CSV); made if missing.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,

    /// Where all randomness comes from: the same number gives the same files.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Two runs of 5 s per point on a coarse grid, instead of five runs of 30 s as in the paper: seconds instead of
    /// minutes, and noisier.
    #[arg(long)]
    quick: bool,
}

impl FigureArgs {
    fn effort(&self) -> Effort {
        if self.quick { Effort::QUICK } else { Effort::FULL }
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write(&self.out.join(name), text)
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot make the directory {}", dir.display()))?;
    }
    std::fs::write(path, text)
        .with_context(|| format!("cannot write {}: is the directory writable?", path.display()))?;
    eprintln!("lull: {} written", path.display());
    Ok(())
}

/// Simulates what was asked for.
pub(crate) fn run(args: &SimArgs) -> anyhow::Result<()> {
    match &args.what {
        What::Fig7(args) => figure(Figure::Fig7, args),
        What::Fig8(args) => figure(Figure::Fig8, args),
        What::Fig9(args) => figure(Figure::Fig9, args),
        What::Fig11(args) => figure(Figure::Fig11, args),
        What::Fig12(args) => figure(Figure::Fig12, args),
        What::Variants(args) => {
            let points = all_variants(args)?;
            println!("{}", report::variants(&points).trim_end());
            Ok(())
        }
        What::Auto(args) => {
            let (comparisons, convergences) = automatic(args);
            println!("{}", report::automatic(&comparisons, &convergences).trim_end());
            Ok(())
        }
        What::All(args) => all(args),
        What::Run(args) => scenario::run(args),
        What::Cluster(args) => cluster::run(args),
        What::Reserve(args) => reserve::run(args),
    }
}

fn figure(figure: Figure, args: &FigureArgs) -> anyhow::Result<()> {
    let claims = one(figure, args)?;
    println!("{}", report::claims(figure, &claims, None).trim_end());
    Ok(())
}

fn one(figure: Figure, args: &FigureArgs) -> anyhow::Result<Vec<Claim>> {
    let effort = args.effort();
    let rows = spread(&figure.intensities(&effort), |intensity| figure.row(*intensity, &effort, args.seed));
    let grid = Grid { figure, cells: rows.into_iter().flatten().collect() };
    args.write(&format!("{}.svg", figure.name()), &plot::density(&grid)?)?;
    args.write(&format!("{}.csv", figure.name()), &grid.csv())?;
    Ok(judge(&grid))
}

fn all_variants(args: &FigureArgs) -> anyhow::Result<Vec<Point>> {
    let effort = args.effort();
    let curves = [true, false].into_iter().flat_map(|greedy| Variant::ALL.map(|variant| (variant, greedy)));
    let curves: Vec<_> = curves.collect();
    let rows = spread(&curves, |(variant, greedy)| variants::curve(*variant, *greedy, &effort, args.seed));
    let points: Vec<Point> = rows.into_iter().flatten().collect();
    args.write("variants.svg", &variants::plot(&points)?)?;
    args.write("variants.csv", &variants::csv(&points))?;
    Ok(points)
}

/// Think times before and after a change, in milliseconds.
const CHANGES: [(u64, u64); 3] = [(180, 20), (20, 180), (60, 20)];

fn automatic(args: &FigureArgs) -> (Vec<Comparison>, Vec<Convergence>) {
    let (seeds, length, runs) = if args.quick { (1, 60, 4) } else { (3, 300, 40) };
    let comparisons =
        spread(&compare::cases(), |case| compare::compare(case, seeds, Nanos::from_secs(length)));
    let mut changes = Vec::new();
    for (name, policy) in compare::contenders() {
        changes.extend(CHANGES.map(|change| (name, policy, change)));
    }
    let ms = Nanos::from_millis;
    let convergences = spread(&changes, |(name, policy, (from, to))| {
        compare::converge(name, policy, ms(*from), ms(*to), runs, Nanos::from_secs(60))
    });
    (comparisons, convergences)
}

/// Everything, with pictures in `DIR/figures` and the page in `DIR/figures.md`.
fn all(args: &FigureArgs) -> anyhow::Result<()> {
    let below = FigureArgs { out: args.out.join("figures"), ..args.clone() };
    let mut page = report::head(args.seed, &args.effort());
    for figure in Figure::ALL {
        page += &report::claims(figure, &one(figure, &below)?, Some("figures"));
    }
    let points = all_variants(&below)?;
    page += &report::variants(&points);
    page += "\n![The four variants](figures/variants.svg)\n\nPoints: [variants.csv](figures/variants.csv)\n";
    let (comparisons, convergences) = automatic(args);
    page += &report::automatic(&comparisons, &convergences);
    args.write("figures.md", &page)
}

#[cfg(test)]
mod tests;
