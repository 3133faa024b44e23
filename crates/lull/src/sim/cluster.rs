//! `lull sim cluster`: a pool of nodes that have owners, under each policy for guests.

pub(super) mod report;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use lull_core::base::bytes::Bytes;
use lull_core::linger::GuestPolicy;
use lull_core::{Nanos, Share};
use lull_sim::cluster::bursts::{self, Gaps};
use lull_sim::cluster::parallel::{self, APPLICATIONS, PROCESSES, Scheduler, Slowdown};
use lull_sim::cluster::study::{self, Outcome, Plan, Row};
use lull_sim::cluster::{Estimate, Owners, Setup, Statistics, trace};
use serde::Serialize;

use super::spread::spread;

/// Arguments of `lull sim cluster`.
#[derive(Debug, Args)]
#[command(
    after_help = "Owners' traces: CSV with the columns node,time,cpu,mem,owner_active (seconds, shares from 0 to 1, 0 or 1), or snapshots of \
condor_status -long in one file. Guests: condor_history -long. Every bad line is named."
)]
pub(super) struct ClusterArgs {
    /// How many nodes (default: 64, or those of the trace).
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,

    /// Guests per node: with less than one, some nodes have none.
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    guests: f64,

    /// CPU time of each guest.
    #[arg(long, value_name = "TIME", default_value = "10min")]
    work: Nanos,

    /// How long the crowded pool is simulated (default: a week, or the length of the trace).
    #[arg(long, value_name = "TIME")]
    length: Option<Nanos>,

    /// The share of the time in which an owner is at work.
    #[arg(long, value_name = "PERCENT", default_value = "46%")]
    in_use: Share,

    /// The share of the time at work in which an owner's load is below 10%.
    #[arg(long, value_name = "PERCENT", default_value = "75%")]
    quiet: Share,

    /// Owners from this trace instead.
    #[arg(long, value_name = "FILE")]
    owners: Option<PathBuf>,

    /// After so long without a sample nobody knows what a node of the trace did: it counts as used up by its owner.
    #[arg(long, value_name = "TIME", default_value = "10min")]
    longest_gap: Nanos,

    /// Guests from this output of condor_history -long: their work, and for the batch when they came.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// Memory of a guest, as a share of a node's: beside a trace's owner who leaves less, it does not run.
    #[arg(long, value_name = "PERCENT", default_value = "10%")]
    memory: Share,

    /// What a guest has to carry along when it moves.
    #[arg(long, value_name = "SIZE", default_value = "8MiB")]
    checkpoint: Bytes,

    /// Bytes per second from node to node.
    #[arg(long, value_name = "SIZE", default_value = "512KiB")]
    bandwidth: Bytes,

    /// From the end of the transfer to the beginning of work.
    #[arg(long, value_name = "TIME", default_value = "4s")]
    restart: Nanos,

    /// The share of guests that can save themselves; others begin again when they move.
    #[arg(long, value_name = "PERCENT", default_value = "100%")]
    saves: Share,

    /// How long pause-and-migrate waits for an owner to leave again.
    #[arg(long, value_name = "TIME", default_value = "1min")]
    patience: Nanos,

    /// Effective context-switch time (registers, caches) in the pool and of parallel guests. What switching costs is shown for 100us and 500us.
    #[arg(long, value_name = "TIME", default_value = "100us")]
    switch: Nanos,

    /// Only this policy, and immediate eviction to compare with. Repeatable.
    #[arg(long, value_name = "POLICY")]
    policy: Vec<GuestPolicy>,

    /// Only this part. Repeatable.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,

    /// How many times, each with owners of its own (default: 10, or as many as make 1,000 nodes). Batches: five times at least.
    #[arg(long, value_name = "N")]
    runs: Option<u32>,

    /// Where all randomness comes from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Draw the pictures into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// A part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// What the pool gets done, and what it costs owners.
    Pool,
    /// What switching costs an owner, by his load.
    Switch,
    /// Parallel guests.
    Parallel,
}

/// An owner's delay at a load.
#[derive(Clone, Debug, Serialize)]
struct Delay {
    switch: Nanos,
    load: f64,
    delay: Estimate,
}

/// All that was found.
#[derive(Debug, Default, Serialize)]
struct Found {
    nodes: u32,
    runs: u32,
    pause: Nanos,
    notes: Vec<String>,
    pool: Vec<Row>,
    switch: Vec<Delay>,
    parallel: Vec<Slowdown>,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float to int casts saturate")]
fn whole(number: f64) -> u32 {
    number as u32
}

/// A week.
const WEEK: Nanos = Nanos::from_secs(7 * 86_400);
/// Parts of a crowded pool's time.
const PARTS: u32 = 10;
/// A pool is simulated for so long at the least.
const SHORTEST: Nanos = Nanos::from_secs(60);
/// Batches, even where the crowded pool is simulated fewer times: each gives one value only.
const BATCHES: u32 = 5;
/// A batch that is not done after so long never will be.
const BATCH_ENDS: Nanos = Nanos::from_secs(60 * 86_400);

pub(super) fn run(args: &ClusterArgs) -> anyhow::Result<()> {
    let wants = |part| args.only.is_empty() || args.only.contains(&part);
    let mut found = Found::default();
    if wants(Part::Pool) {
        pool(args, &mut found)?;
    }
    if wants(Part::Switch) {
        found.switch = switching(args.seed);
    }
    if wants(Part::Parallel) {
        found.parallel = parallel_guests(args);
    }
    if let Some(out) = &args.out {
        for (name, picture) in report::pictures(&found)? {
            super::write(&out.join(name), &picture)?;
        }
    }
    for note in &found.notes {
        eprintln!("lull: {note}");
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print!("{}", report::text(&found));
    }
    Ok(())
}

/// Owners and guests as the arguments say, and how long they last.
fn setup(args: &ClusterArgs, notes: &mut Vec<String>) -> anyhow::Result<(Setup, Nanos)> {
    let mut nodes = args.nodes.unwrap_or(64);
    let mut length = WEEK;
    let mut names = Vec::new();
    let owners = if let Some(path) = &args.owners {
        let trace = trace::owners(open(path)?, args.longest_gap)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        if trace.gaps > 0 {
            notes.push(format!(
                "{}: nothing is known of a node for longer than {}, {}; it counts as used by its owner then",
                path.display(),
                args.longest_gap,
                if trace.gaps == 1 { "once".to_owned() } else { format!("{} times", trace.gaps) }
            ));
        }
        nodes = args.nodes.unwrap_or_else(|| u32::try_from(trace.names.len()).unwrap_or(u32::MAX));
        length = trace.replay.length;
        names = trace.names;
        Owners::Replayed(Arc::new(trace.replay))
    } else {
        let statistics = Statistics {
            in_use: args.in_use.fraction(),
            quiet: args.quiet.fraction(),
            ..Statistics::default()
        };
        if args.in_use == Share::ZERO || args.in_use == Share::ALL {
            bail!(
                "--in-use {}: owners come and go; write a share between 0% and 100%, like 46%",
                args.in_use
            );
        }
        Owners::Drawn(Arc::new(statistics))
    };
    let length = args.length.unwrap_or(length);
    let nothing = [
        ("--nodes", nodes == 0, "a pool has a node at least"),
        ("--runs", args.runs == Some(0), "run it once at least"),
        ("--length", length < SHORTEST, "the pool is simulated for a minute at least"),
        ("--work", args.work == Nanos::ZERO, "a guest has work; write a time, like 10min"),
        ("--bandwidth", args.bandwidth.0 == 0, "nothing could move; write a size, like 512KiB"),
    ];
    if let Some((option, _, why)) = nothing.iter().find(|(_, is_so, _)| *is_so) {
        bail!("{option}: {why}");
    }
    if !(args.guests > 0.0 && args.guests.is_finite()) {
        bail!("--guests {}: there is a guest at least; write a number above 0, like 0.5", args.guests);
    }
    let (mut work, mut arrivals) = (vec![args.work], Vec::new());
    let mut guests = whole((args.guests * f64::from(nodes)).round().max(1.0));
    if let Some(path) = &args.history {
        let history = trace::guests(open(path)?).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        if history.left_out > 0 {
            notes.push(format!(
                "{}: {} jobs were removed or used no CPU: left out",
                path.display(),
                history.left_out
            ));
        }
        let unknown: Vec<&String> = history.hosts.iter().filter(|host| !names.contains(host)).collect();
        if !names.is_empty() && !unknown.is_empty() {
            notes.push(format!(
                "{}: jobs ran on {} nodes of which the owners' trace says nothing ({}, …): was it taken from the same pool?",
                path.display(),
                unknown.len(),
                unknown[0]
            ));
        }
        guests = u32::try_from(history.work.len()).unwrap_or(u32::MAX).max(guests);
        (work, arrivals) = (history.work, history.arrivals);
    }
    let transfer_s = args.checkpoint.0 as f64 / args.bandwidth.0 as f64;
    let setup = Setup {
        nodes,
        owners,
        guests,
        work,
        arrivals,
        renew: true,
        saves: args.saves.fraction(),
        memory: args.memory.fraction(),
        pause: lull_sim::span::nanos(transfer_s * 1e9).plus(args.restart),
        patience: args.patience,
        policy: GuestPolicy::LingerLonger,
        seed: args.seed,
    };
    Ok((setup, length))
}

fn open(path: &Path) -> anyhow::Result<BufReader<std::fs::File>> {
    let file = std::fs::File::open(path)
        .with_context(|| format!("cannot read the trace {}: does it exist?", path.display()))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

fn pool(args: &ClusterArgs, found: &mut Found) -> anyhow::Result<()> {
    let (setup, length) = setup(args, &mut found.notes)?;
    found.nodes = setup.nodes;
    found.pause = setup.pause;
    found.runs = args.runs.unwrap_or_else(|| (1_000 / setup.nodes).clamp(1, 10));
    let evicted = GuestPolicy::ImmediateEviction;
    let wanted = GuestPolicy::ALL
        .into_iter()
        .filter(|policy| args.policy.is_empty() || args.policy.contains(policy) || *policy == evicted);
    let runs = found.runs;
    let tasks: Vec<(GuestPolicy, u32)> =
        wanted.flat_map(|policy| (0..runs.max(BATCHES)).map(move |run| (policy, run))).collect();
    let crowded = tasks.iter().filter(|(_, run)| *run < runs).count() as u64;
    let bar = ProgressBar::new(crowded * length.0 / HOUR.0);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} simulated hours, {eta} left")?);
    let gaps = Gaps::measure(args.switch, args.seed);
    let outcomes: Vec<Outcome> = spread(&tasks, |(policy, run)| {
        let setup = Setup { policy: *policy, seed: args.seed.wrapping_add(u64::from(*run)), ..setup.clone() };
        let plan = Plan { crowded: (*run < runs).then_some(length), parts: PARTS, batch: BATCH_ENDS };
        study::run(&setup, &gaps, &plan, |passed| bar.inc(passed.0 / HOUR.0))
    });
    bar.finish_and_clear();
    found.pool = study::rows(&outcomes);
    Ok(())
}

const HOUR: Nanos = Nanos::from_secs(3_600);

/// Effective context-switch times of Linger-Longer.
const SWITCHES: [Nanos; 2] = [Nanos::from_micros(100), Nanos::from_micros(500)];

fn switching(seed: u64) -> Vec<Delay> {
    let loads = [0.05, 0.10, 0.15, 0.20, 0.25, 0.40, 0.60, 0.80, 0.95];
    let points: Vec<(Nanos, f64)> =
        SWITCHES.into_iter().flat_map(|switch| loads.map(|load| (switch, load))).collect();
    spread(&points, |(switch, load)| {
        let delay = bursts::delay(*load, *switch, 10, 20_000, seed);
        Delay { switch: *switch, load: *load, delay }
    })
}

/// Linger-Longer's loads: one busy node of four at each, and one to four busy nodes at the second.
const LOADS: [f64; 5] = [0.07, 0.10, 0.13, 0.19, 0.25];
const LOAD_OF_FIGURE_7: f64 = 0.13;

fn parallel_guests(args: &ClusterArgs) -> Vec<Slowdown> {
    let mut points = Vec::new();
    for application in &APPLICATIONS {
        for scheduler in [Scheduler::Linger, Scheduler::Equal] {
            points.extend(LOADS.map(|load| (application, scheduler, load, 1)));
            points.extend((2..=PROCESSES).map(|busy| (application, scheduler, LOAD_OF_FIGURE_7, busy)));
        }
    }
    spread(&points, |(application, scheduler, load, busy)| {
        parallel::slowdown(application, *scheduler, *load, *busy, args.switch, 10, 600.0, args.seed)
    })
}
