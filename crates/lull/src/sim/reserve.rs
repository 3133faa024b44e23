//! `lull sim reserve`: two sites on one server with reservations, beside the same server without.

mod report;

use std::num::NonZero;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use lull_core::{Nanos, Share};
use lull_sim::cluster::Estimate;
use lull_sim::reserve::input::{self, Host};
use lull_sim::reserve::{Setup, Site, cpu, disk, link};
use serde::Serialize;

use super::spread::spread;

/// Arguments of `lull sim reserve`.
#[derive(Debug, Args)]
#[command(
    after_help = "The site of interest is the one whose clients and share are given; the competing site has as many clients as the load says, and the \
rest of the resource but for a hundredth. Plain: the same without reservations."
)]
pub(super) struct ReserveArgs {
    /// What the site of interest has reserved, of each resource. Repeatable; for CPU requests 99% is run, too.
    #[arg(long, value_name = "PERCENT", default_value = "50%")]
    share: Vec<Share>,

    /// Clients of the site of interest.
    #[arg(long, value_name = "N", default_value_t = 10)]
    clients: u32,

    /// Clients of the competing site, at the most; a quarter, half and three quarters of them are run, too.
    #[arg(long, value_name = "N", default_value_t = 40)]
    load: u32,

    /// Disk requests in service at once: more lets the drive choose a shorter way, and gives the site what it reserved later.
    #[arg(long, value_name = "N", default_value_t = NonZero::<u32>::MIN.saturating_add(3))]
    batch: NonZero<u32>,

    /// How long each run is, in simulated time: from 10s to 1440min.
    #[arg(long, value_name = "TIME", default_value = "3min")]
    length: Nanos,

    /// How many times, each with randomness of its own.
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,

    /// Where all randomness comes from: the same number gives the same output.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// CPU time of a received packet, from its arrival to the application.
    #[arg(long, value_name = "TIME", default_value = "175.439us")]
    packet: Nanos,

    /// The part of that which the plain system spends in the interrupt.
    #[arg(long, value_name = "PERCENT", default_value = "33%")]
    interrupt: Share,

    /// CPU time of finding a packet's socket, or of dropping it early.
    #[arg(long, value_name = "TIME", default_value = "2us")]
    demultiplex: Nanos,

    /// Packets that may wait at a socket.
    #[arg(long, value_name = "N", default_value_t = 64)]
    backlog: u32,

    /// Only this part. Repeatable.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,

    /// Draw the pictures (SVG) into this directory; made if missing.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// A part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Requests that compute (figures 4 and 5 of the paper).
    Cpu,
    /// Files that do not fit into memory (figure 6).
    Disk,
    /// A document, on links of 10 and 100 Mb/s (figure 7).
    Link,
    /// UDP packets beyond what the CPU can take (figures 8 and 9).
    Input,
}

/// What two sites compete for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Resource {
    Cpu,
    Disk,
    Link10,
    Link100,
}

impl Resource {
    fn run(self, setup: &Setup, batch: NonZero<u32>) -> Site {
        match self {
            Self::Cpu => cpu::run(setup),
            Self::Disk => disk::run(setup, batch),
            Self::Link10 => link::run(setup, 10_000_000),
            Self::Link100 => link::run(setup, 100_000_000),
        }
    }
}

/// The site of interest under one load.
#[derive(Clone, Debug, Serialize)]
struct Point {
    resource: Resource,
    /// None: plain.
    share: Option<Share>,
    load: u32,
    /// Of the plain system with no load.
    throughput: Estimate,
    response_s: Estimate,
}

/// What applications receive at one rate.
#[derive(Clone, Debug, Serialize)]
struct Reception {
    /// Each application's share of the CPU, under SRP; none: plain.
    shares: Vec<Share>,
    apps: u32,
    /// Packets per second that come to each.
    rate: f64,
    /// What the first one receives, and the mean of the others.
    first: Estimate,
    others: Estimate,
}

/// All that was found.
#[derive(Debug, Default, Serialize)]
struct Found {
    clients: u32,
    batch: u32,
    points: Vec<Point>,
    input: Vec<Reception>,
}

/// Packets per second to each application.
const RATES: [f64; 9] = [1_000.0, 3_000.0, 5_000.0, 5_700.0, 7_000.0, 10_000.0, 15_000.0, 20_000.0, 25_000.0];
/// Packets come much more often than requests: a part of the length is enough.
const INPUT_PART: u64 = 10;

impl ReserveArgs {
    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.clients == 0 || self.clients > 10_000 || self.load > 10_000 {
            bail!("--clients must be from 1 to 10000, --load at most 10000");
        }
        if self.runs == 0 || self.runs > 1_000 {
            bail!("--runs must be from 1 to 1000");
        }
        if self.length < Nanos::from_secs(10) || self.length > Nanos::from_secs(86_400) {
            bail!("--length must be from 10s to 1440min, not {}", self.length);
        }
        if let Some(share) =
            self.share.iter().find(|share| **share < Share::percent(1) || **share > Share::percent(99))
        {
            bail!("--share must be from 1% to 99%, not {share}: the competing site needs a part, too");
        }
        if self.packet < Nanos::from_micros(1) || self.demultiplex >= self.packet {
            bail!(
                "--demultiplex ({}) must be less than --packet ({}), which must be 1us at least",
                self.demultiplex,
                self.packet
            );
        }
        Ok(())
    }

    fn loads(&self) -> Vec<u32> {
        let mut loads: Vec<u32> = (0..=4).map(|quarter| self.load * quarter / 4).collect();
        loads.dedup();
        loads
    }

    fn seeds(&self) -> impl Iterator<Item = u64> {
        let seed = self.seed;
        (0..u64::from(self.runs)).map(move |run| seed.wrapping_add(run))
    }

    fn resources(&self) -> Vec<Resource> {
        let parts = [
            (Part::Cpu, Resource::Cpu),
            (Part::Disk, Resource::Disk),
            (Part::Link, Resource::Link10),
            (Part::Link, Resource::Link100),
        ];
        parts.into_iter().filter(|(part, _)| self.has(*part)).map(|(_, resource)| resource).collect()
    }

    fn points(&self) -> Vec<Point> {
        let mut cases = Vec::new();
        for resource in self.resources() {
            let mut shares: Vec<Option<Share>> = self.share.iter().copied().map(Some).collect();
            let most = Share::percent(99);
            if resource == Resource::Cpu && !self.share.contains(&most) {
                shares.push(Some(most));
            }
            shares.push(None);
            let all =
                shares.into_iter().flat_map(|share| self.loads().into_iter().map(move |load| (share, load)));
            cases.extend(all.map(|(share, load)| (resource, share, load)));
        }
        let one = |resource: Resource, share, load, seed| {
            let setup = Setup { share, clients: self.clients, load, length: self.length, seed };
            resource.run(&setup, self.batch)
        };
        let solo: Vec<(Resource, Vec<f64>)> = spread(&self.resources(), |resource| {
            (*resource, self.seeds().map(|seed| one(*resource, None, 0, seed).throughput).collect())
        });
        spread(&cases, |(resource, share, load)| {
            let sites: Vec<Site> = self.seeds().map(|seed| one(*resource, *share, *load, seed)).collect();
            let alone = solo.iter().find(|(of, _)| of == resource).map_or(&[][..], |(_, alone)| alone);
            let ratios = sites.iter().zip(alone).map(|(site, alone)| site.throughput / alone);
            Point {
                resource: *resource,
                share: *share,
                load: *load,
                throughput: Estimate::of(ratios),
                response_s: Estimate::of(sites.iter().map(|site| site.response_s)),
            }
        })
    }

    fn receptions(&self) -> Vec<Reception> {
        let host = Host {
            packet: self.packet,
            interrupt: self.interrupt,
            demultiplex: self.demultiplex,
            bound: self.backlog.into(),
        };
        let percents = |shares: &[u32]| shares.iter().map(|percent| Share::percent(*percent)).collect();
        let kinds: [(u32, Vec<Share>); 5] = [
            (1, Vec::new()),
            (1, percents(&[100])),
            (4, Vec::new()),
            (4, percents(&[25, 25, 25, 25])),
            (4, percents(&[97, 1, 1, 1])),
        ];
        let cases: Vec<_> =
            kinds.iter().flat_map(|(apps, shares)| RATES.map(|rate| (*apps, shares.clone(), rate))).collect();
        spread(&cases, |(apps, shares, rate)| {
            let given = (!shares.is_empty()).then_some(shares.as_slice());
            let length = Nanos(self.length.0 / INPUT_PART);
            let runs: Vec<Vec<f64>> =
                self.seeds().map(|seed| input::run(&host, *apps, given, *rate, length, seed)).collect();
            let others = |run: &Vec<f64>| run[1..].iter().sum::<f64>() / (run.len() - 1) as f64;
            Reception {
                shares: shares.clone(),
                apps: *apps,
                rate: *rate,
                first: Estimate::of(runs.iter().map(|run| run[0])),
                others: Estimate::of(runs.iter().filter(|run| run.len() > 1).map(others)),
            }
        })
    }
}

/// Runs everything and prints it.
pub(super) fn run(args: &ReserveArgs) -> anyhow::Result<()> {
    args.check()?;
    let input = if args.has(Part::Input) { args.receptions() } else { Vec::new() };
    let found = Found { clients: args.clients, batch: args.batch.get(), points: args.points(), input };
    if let Some(dir) = &args.out {
        for (name, picture) in report::pictures(&found)? {
            super::write(&dir.join(name), &picture)?;
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        println!("{}", report::text(&found).trim_end());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
