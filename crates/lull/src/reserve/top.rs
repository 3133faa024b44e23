//! `lull reserve top`: who gets how much now.
//!
//! Two readings of the file `status` make one picture: what was served between them is what each *gets*, what R-6 gives to those that were
//! busy is what is *due*. On a terminal the picture is drawn anew every interval; elsewhere it is told once.
//!
//! Edge cases: memory is held, not served, so what is held now is what it gets. What is asked for is a sample: the threads that wanted a
//! CPU at that moment. A reservation that came between two readings has got nothing yet.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use lull_core::Nanos;
use lull_core::reserve::{Id, ROOT, Tree, Unit};
use lull_linux::stop;
use serde::Serialize;

use super::find;
use super::status::{MOVED, NANOS, ReservationStatus, ResourceStatus, SENT, Status};

/// Arguments of `lull reserve top`.
#[derive(Debug, Args)]
pub(super) struct TopArgs {
    /// The mount to ask (default: the only one).
    #[arg(value_name = "DIR")]
    mount: Option<PathBuf>,

    /// Between two readings, at least 10ms. Longer is steadier.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,

    /// Print one picture as JSON; amounts in the resource's smallest unit.
    #[arg(long)]
    json: bool,
}

/// One line of the picture. Amounts are in the resource's smallest unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    resource: String,
    unit: String,
    path: String,
    minimum: u64,
    weight: u32,
    /// What it got between the readings.
    gets: u64,
    /// What it was to get, by the busy ones' terms.
    due: u64,
    /// What it wants.
    asks: u64,
    processes: u64,
    most_requests: Option<u64>,
    requests: u64,
    refused: u64,
    #[serde(skip)]
    shown: [String; 4],
}

/// Less time tells nothing: the kernel counts in ticks.
const LEAST_INTERVAL: Nanos = Nanos::from_millis(10);

/// Reads, waits, reads, tells.
pub(super) fn run(args: &TopArgs) -> anyhow::Result<()> {
    if args.interval < LEAST_INTERVAL {
        bail!("--interval must be at least {LEAST_INTERVAL}, not {}", args.interval);
    }
    let mounted = find::one(args.mount.as_deref(), "`lull reserve top DIR`")?;
    let path = mounted.point.join("status");
    let read = || -> anyhow::Result<Status> {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is of another version of lull", path.display()))
    };
    let live = std::io::stdout().is_terminal() && !args.json;
    stop::install().context("cannot take signals")?;
    let mut before = read()?;
    loop {
        std::thread::sleep(Duration::from_nanos(args.interval.0));
        if stop::requested() {
            return Ok(());
        }
        let now = read()?;
        let rows = picture(&before, &now);
        let mut out = std::io::stdout().lock();
        let told = if args.json {
            serde_json::to_string_pretty(&rows).context("cannot write JSON")? + "\n"
        } else {
            table(&rows)
        };
        let clear = if live { "\x1b[H\x1b[J" } else { "" };
        match write!(out, "{clear}{told}").and_then(|()| out.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            other => other.context("cannot write to standard output")?,
        }
        if !live {
            return Ok(());
        }
        before = now;
    }
}

/// What happened between two readings.
fn picture(before: &Status, now: &Status) -> Vec<Row> {
    let elapsed_ns = now.at_ns.saturating_sub(before.at_ns).max(1);
    let mut rows = Vec::new();
    for resource in &now.resources {
        let Some((tree, ids)) = resource.tree() else { continue };
        let then = before.resources.iter().find(|found| found.name == resource.name);
        rows.extend(rows_of(resource, then, elapsed_ns, &tree, &ids));
    }
    rows
}

fn rows_of(
    now: &ResourceStatus,
    then: Option<&ResourceStatus>,
    elapsed_ns: u64,
    tree: &Tree,
    ids: &[Id],
) -> Vec<Row> {
    let served = |found: &ReservationStatus| {
        let earlier = then.and_then(|then| then.reservations.iter().find(|other| other.path == found.path));
        earlier.map_or(0, |earlier| found.service.saturating_sub(earlier.service))
    };
    let moved: u64 = now.reservations.iter().map(served).sum();
    let gets = |found: &ReservationStatus| {
        // Nanoseconds of CPU time in so many nanoseconds, as millionths of a CPU; or bytes of all that were moved, as millionths; or
        // bytes in so many nanoseconds, as bytes per second.
        let (scale, whole) = match now.service_unit.as_str() {
            NANOS => (1_000_000, elapsed_ns),
            MOVED => (1_000_000, moved.max(1)),
            SENT => (1_000_000_000, elapsed_ns),
            _ => return found.service,
        };
        let amount = u128::from(served(found)) * scale / u128::from(whole);
        u64::try_from(amount).unwrap_or(u64::MAX)
    };
    let queues = || ids.iter().copied().zip(&now.reservations);
    // A hundredth of one CPU is what a sleeper's timers cost.
    let least = if now.service_unit == NANOS { 10_000 } else { 1 };
    let busy: Vec<Id> = queues()
        .filter(|(_, found)| found.queue && (found.asked > 0 || gets(found) >= least))
        .map(|(id, _)| id)
        .collect();
    let due = tree.apportion(|id| busy.contains(&id));
    // The root first, as its children's sum.
    let of = |above: Id, value: &dyn Fn(&ReservationStatus) -> u64| -> u64 {
        queues().filter(|(id, _)| tree.is_within(*id, above)).map(|(_, found)| value(found)).sum()
    };
    let unit = tree.whole().unit;
    let all = std::iter::once((ROOT, None)).chain(queues().map(|(id, found)| (id, Some(found))));
    all.map(|(id, found)| {
        let terms = tree.get(id).map(|found| found.terms).unwrap_or_default();
        let due = due.iter().find(|(other, _)| *other == id).map_or(0, |(_, amount)| *amount);
        let (gets, asks) = (of(id, &gets), of(id, &|found| found.asked));
        let percentage = tree.whole().percentage(terms.minimum);
        Row {
            resource: now.name.clone(),
            unit: now.unit.clone(),
            path: tree.full_path(id),
            minimum: terms.minimum,
            weight: terms.weight,
            gets,
            due,
            asks,
            processes: of(id, &|found| found.processes),
            most_requests: found.and_then(|found| found.most_requests),
            requests: of(id, &|found| found.requests),
            refused: of(id, &|found| found.refused + found.input.map_or(0, |input| input.refused)),
            shown: [percentage.to_string(), short(unit, gets), short(unit, due), short(unit, asks)],
        }
    })
    .collect()
}

/// An amount for people.
fn short(unit: Unit, amount: u64) -> String {
    match unit {
        Unit::Cpu => format!("{:.2}", amount as f64 / 1e6),
        Unit::Bytes => lull_core::base::bytes::Bytes(amount).to_string(),
        Unit::Rate => format!("{}/s", lull_core::base::bytes::Bytes(amount)),
        Unit::Part => format!("{:.1}%", amount as f64 / 1e4),
    }
}

/// The picture as a table; amounts of CPU time in CPUs.
fn table(rows: &[Row]) -> String {
    let head = ["reservation", "minimum", "weight", "gets", "due", "asks", "processes", "refused"];
    let mut lines = vec![head.map(str::to_owned)];
    for row in rows {
        let [minimum, gets, due, asks] = row.shown.clone();
        let processes = match row.most_requests {
            Some(most) => format!("{} of {most}", row.processes),
            None => row.processes.to_string(),
        };
        let weight = row.weight.to_string();
        let refused = row.refused.to_string();
        lines.push([row.path.clone(), minimum, weight, gets, due, asks, processes, refused]);
    }
    let mut text = String::new();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for line in &lines {
        let mut shown = format!("{:width$}", line[0], width = widths[0]);
        for (column, width) in widths.iter().enumerate().skip(1) {
            shown += &format!("  {:>width$}", line[column]);
        }
        text += shown.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
