//! The paper's figures: throughput of both classes over the foreground's intensity and the interval.
//!
//! | figure | set-up |
//! |---|---|
//! | 7 | the ideal: a server that takes 0.2 ms for everything, exact clocks |
//! | 8 | the paper's disk, 512-byte random reads, FreeBSD's clock |
//! | 9 | 1 Gb/s, UDP beside UDP |
//! | 11 | 1 Gb/s, TCP beside UDP |
//! | 12 | 100 Mb/s with 10 ms each way, TCP beside UDP |
//!
//! Each point is the mean of several runs with seeds of their own. Foreground is relative to the same foreground without
//! background, background to background without foreground, as in the paper. In figures 7 and 8 both differ only in the
//! policy: the draws of the foreground are the same.
//!
//! | module | idea |
//! |---|---|
//! | [`claims`] | the sentences of the specification's table, and whether they hold |
//! | [`plot`] | density plots as SVG |
//! | [`variants`] | the four machines, simulated and computed |

pub mod claims;
pub mod plot;
pub mod variants;

use std::fmt::Write;
use std::str::FromStr;

use lull_core::{Interval, Nanos, Setting, Share, StartRule};
use serde::Serialize;

use crate::class::Class;
use crate::device::disk::{Disk, DiskSetting};
use crate::device::{Device, Server};
use crate::net::{Network, Protocol, Traffic, run};
use crate::policy::Policy;
use crate::span::Span;
use crate::workload::{Intensity, Workload};
use crate::world::{Client, World};

/// One of the figures that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// The ideal scheduler.
    Fig7,
    /// The disk.
    Fig8,
    /// UDP beside UDP.
    Fig9,
    /// TCP beside UDP, near.
    Fig11,
    /// TCP beside UDP, far.
    Fig12,
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Runs per point.
    pub runs: u32,
    /// Length of each of the longest.
    pub length: Nanos,
    /// Every second intensity and interval only.
    pub coarse: bool,
}

impl Effort {
    /// Five runs of 30 seconds, as in the paper; see [`Figure::length`].
    pub const FULL: Self = Self { runs: 5, length: Nanos::from_secs(30), coarse: false };
    /// For a first look.
    pub const QUICK: Self = Self { runs: 2, length: Nanos::from_secs(5), coarse: true };
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The foreground's intensity.
    pub intensity: Share,
    /// The preemption interval.
    pub interval: Nanos,
    /// Foreground relative to alone.
    pub foreground: f64,
    /// Standard deviation of that over the runs.
    pub foreground_sd: f64,
    /// Background relative to alone.
    pub background: f64,
    /// Standard deviation of that over the runs.
    pub background_sd: f64,
}

/// All points of a figure, intensity by intensity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// Which.
    pub figure: Figure,
    /// The points.
    pub cells: Vec<Cell>,
}

/// A text that names no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a figure that can be simulated; choose fig7, fig8, fig9, fig11 or fig12")]
pub struct UnknownFigure(String);

impl FromStr for Figure {
    type Err = UnknownFigure;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|figure| figure.name() == text)
            .ok_or_else(|| UnknownFigure(text.to_owned()))
    }
}

/// Service time of the ideal scheduler.
const IDEAL_SERVICE: Nanos = Nanos::from_micros(200);

impl Figure {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fig7, Self::Fig8, Self::Fig9, Self::Fig11, Self::Fig12];

    /// `fig7` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fig7 => "fig7",
            Self::Fig8 => "fig8",
            Self::Fig9 => "fig9",
            Self::Fig11 => "fig11",
            Self::Fig12 => "fig12",
        }
    }

    /// What it shows.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fig7 => "Figure 7: ideal scheduler, 0.2 ms per request",
            Self::Fig8 => "Figure 8: disk, 512-byte random reads, 20 ms per request",
            Self::Fig9 => "Figure 9: 1 Gb/s, UDP beside UDP",
            Self::Fig11 => "Figure 11: 1 Gb/s, TCP beside UDP",
            Self::Fig12 => "Figure 12: 100 Mb/s, 10 ms each way, TCP beside UDP",
        }
    }

    /// The service time that the paper's text compares intervals with.
    pub const fn service(self) -> Nanos {
        match self {
            Self::Fig7 => IDEAL_SERVICE,
            Self::Fig8 => Nanos::from_millis(20),
            Self::Fig9 | Self::Fig11 | Self::Fig12 => Nanos::from_micros(50),
        }
    }

    /// The intervals along the vertical axis.
    pub fn intervals(self, effort: &Effort) -> Vec<Nanos> {
        let micros: &[u64] = match self {
            Self::Fig7 => &[
                0, 100, 150, 250, 500, 1_000, 5_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000,
                80_000, 90_000, 100_000, 110_000, 150_000,
            ],
            Self::Fig8 => &[
                0, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000,
                90_000, 100_000, 110_000, 120_000, 130_000, 150_000,
            ],
            Self::Fig9 => &[0, 25, 45, 60, 80, 100, 150, 250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000],
            Self::Fig11 => {
                &[0, 50, 100, 250, 500, 750, 900, 1_000, 1_250, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000]
            }
            Self::Fig12 => &[
                0, 100, 500, 1_000, 2_500, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000,
                75_000, 100_000,
            ],
        };
        let step = if effort.coarse { 2 } else { 1 };
        micros.iter().step_by(step).map(|micros| Nanos::from_micros(*micros)).collect()
    }

    /// The intensities along the horizontal axis.
    pub fn intensities(self, effort: &Effort) -> Vec<Share> {
        let percents: &[u32] = if effort.coarse {
            &[1, 10, 40, 70, 100]
        } else {
            &[1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100]
        };
        percents.iter().map(|percent| Share::percent(*percent)).collect()
    }

    /// Length of a run: figures with thousands of requests per second need a third of what the disk needs, for less noise.
    pub fn length(self, effort: &Effort) -> Nanos {
        match self {
            Self::Fig8 | Self::Fig12 => effort.length,
            Self::Fig7 | Self::Fig9 | Self::Fig11 => Nanos(effort.length.0 / 3),
        }
    }

    /// Requests or packets per second of both classes in one run.
    pub fn rates(
        self,
        foreground: Option<Share>,
        background: bool,
        interval: Nanos,
        seed: u64,
        length: Nanos,
    ) -> [f64; 2] {
        let interval = Interval::Finite(interval);
        let of_network = |network, protocol| {
            let out = run(network, &Traffic { protocol, foreground, background, interval }, seed, length);
            [out.foreground_per_s, out.background_per_s]
        };
        match self {
            Self::Fig7 => {
                let span = Span::Fixed(IDEAL_SERVICE);
                let device =
                    Device::Server(Server { slots: 1, foreground: span, background: span, drag: 0.0 });
                let exact = |share| Intensity {
                    tick: Nanos::ZERO,
                    cost: Nanos::from_micros(10),
                    ..Intensity::paper(share)
                };
                of_world(device, foreground.map(exact), background, interval, seed, length)
            }
            Self::Fig8 => {
                let device = Device::Disk(Disk::new(DiskSetting::default()));
                of_world(device, foreground.map(Intensity::paper), background, interval, seed, length)
            }
            Self::Fig9 => of_network(Network::LAN, Protocol::Udp),
            Self::Fig11 => of_network(Network::LAN, Protocol::Tcp),
            Self::Fig12 => of_network(Network::WAN, Protocol::Tcp),
        }
    }

    /// All intervals at one intensity. Rows do not depend on each other: callers may make them side by side.
    pub fn row(self, intensity: Share, effort: &Effort, seed: u64) -> Vec<Cell> {
        self.row_of(intensity, &self.intervals(effort), effort, seed)
    }

    /// These intervals at one intensity.
    pub fn row_of(self, intensity: Share, intervals: &[Nanos], effort: &Effort, seed: u64) -> Vec<Cell> {
        let length = self.length(effort);
        let seeds: Vec<u64> = (0..u64::from(effort.runs.max(1)))
            .map(|run| seed.wrapping_mul(1_000).wrapping_add(run))
            .collect();
        let alone: Vec<f64> = seeds
            .iter()
            .map(|seed| self.rates(Some(intensity), false, Nanos::ZERO, *seed, length)[0])
            .collect();
        let solo: Vec<f64> =
            seeds.iter().map(|seed| self.rates(None, true, Nanos::ZERO, *seed, length)[1]).collect();
        let cell = |interval| {
            let both = seeds.iter().map(|seed| self.rates(Some(intensity), true, interval, *seed, length));
            let ratios: Vec<[f64; 2]> = both
                .zip(alone.iter().zip(&solo))
                .map(|([foreground, background], (alone, solo))| {
                    [foreground / alone.max(f64::MIN_POSITIVE), background / solo.max(f64::MIN_POSITIVE)]
                })
                .collect();
            let [(foreground, foreground_sd), (background, background_sd)] =
                [0, 1].map(|class: usize| mean_and_deviation(ratios.iter().map(|ratio| ratio[class])));
            Cell { intensity, interval, foreground, foreground_sd, background, background_sd }
        };
        intervals.iter().copied().map(cell).collect()
    }

    /// The whole figure, row after row.
    pub fn grid(self, effort: &Effort, seed: u64) -> Grid {
        let rows =
            self.intensities(effort).into_iter().flat_map(|intensity| self.row(intensity, effort, seed));
        Grid { figure: self, cells: rows.collect() }
    }
}

fn of_world(
    device: Device,
    foreground: Option<Intensity>,
    background: bool,
    interval: Interval,
    seed: u64,
    length: Nanos,
) -> [f64; 2] {
    let setting = Setting { interval, start_rule: StartRule::Request, ..Setting::default() };
    let policy = if background { Policy::Fixed(setting) } else { Policy::Alone };
    let mut world = World::new(seed);
    let station = world.add_station(device, &policy);
    let client =
        |class, workload| Client { station, class, workload, bytes: 512, work: None, sequential: false };
    // The foreground comes first, so that its draws are the same with and without background.
    if let Some(intensity) = foreground {
        world.add_client(client(Class::Foreground, Workload::Intensity(intensity)));
    }
    if background {
        let greedy = Intensity { cost: Nanos::from_micros(50), ..Intensity::paper(Share::ALL) };
        world.add_client(client(Class::Background, Workload::Intensity(greedy)));
    }
    let warm = Nanos(length.0 / 10);
    world.run_until(warm);
    let count =
        |world: &World| [Class::Foreground, Class::Background].map(|c| world.tally(station, c).completed);
    let before = count(&world);
    world.run_until(length);
    let after = count(&world);
    let seconds = length.since(warm).as_secs_f64();
    [0, 1].map(|class| (after[class] - before[class]) as f64 / seconds)
}

fn mean_and_deviation(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let square = values.map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, if count > 1.0 { (square / (count - 1.0)).sqrt() } else { 0.0 })
}

impl Grid {
    /// One line per point.
    pub fn csv(&self) -> String {
        let mut text =
            String::from("intensity_percent,interval_ms,foreground,foreground_sd,background,background_sd\n");
        for cell in &self.cells {
            let _ = writeln!(
                text,
                "{},{},{:.4},{:.4},{:.4},{:.4}",
                cell.intensity.fraction() * 100.0,
                cell.interval.0 as f64 / 1e6,
                cell.foreground,
                cell.foreground_sd,
                cell.background,
                cell.background_sd
            );
        }
        text
    }
}

#[cfg(test)]
mod tests;
