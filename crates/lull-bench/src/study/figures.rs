//! The paper's figures of its network, measured: throughput of both classes over the foreground's intensity
//! and the interval.
//!
//! A figure is had from a study in which its case was run at several intensities under lull with several
//! intervals (`lull bench net --figure`, or `--intensity` and `--intervals`). Each point is the median over
//! the rounds of ratios within the round, as everywhere. What the points show is told in the sentences of the
//! simulator ([`claims`]), by the same rules, beside what it gives at the same intensities and fixed
//! intervals: the automatic interval is no point on that axis, and is not judged.
//!
//! Not the paper's: the hosts (so a packet takes 12 µs and not 50), and the intensity, which is the share of
//! time in which the foreground sends and not that of a CPU.

use lull_core::{Interval, IntervalChoice, Nanos, Share};
use lull_sim::figures::claims::{self, Claim};
use lull_sim::figures::plot::{self, Density, PlotError, Tile};
use lull_sim::figures::{Cell, Effort, Figure, Grid};

use super::{CaseStudy, Row, Study};
use crate::stats::Summary;

/// The figures, the family of cases that each is measured with, and what it shows.
pub const FIGURES: [(Figure, &str, &str); 3] = [
    (Figure::Fig9, "udp-udp", "Figure 9, measured: datagrams beside datagrams"),
    (Figure::Fig11, "tcp-udp", "Figure 11, measured: three connections beside datagrams"),
    (Figure::Fig12, "tcp-udp-far", "Figure 12, measured: three connections beside datagrams, 10 ms each way"),
];

/// How the simulator makes the points that stand beside the measured ones.
const EFFORT: Effort = Effort { runs: 2, length: Nanos::from_secs(15), coarse: false };
const SEED: u64 = 1;

/// What held the background, in the order of the vertical axis from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// Nothing.
    Not,
    /// A fixed interval.
    For(Interval),
    /// The interval that lull found.
    Found,
}

impl Held {
    /// By the name of the contender; none if it is another one.
    fn of(contender: &str) -> Option<Self> {
        match contender {
            "none" => Some(Self::Not),
            "lull" => Some(Self::Found),
            _ => match contender.strip_prefix("lull --interval ")?.parse::<IntervalChoice>().ok()? {
                IntervalChoice::Auto => Some(Self::Found),
                IntervalChoice::Fixed(interval) => Some(Self::For(interval)),
            },
        }
    }

    /// On the axis and in tables: a number is milliseconds.
    pub fn name(self) -> String {
        match self {
            Self::Not => "none".to_owned(),
            Self::For(Interval::Finite(length)) => (length.0 as f64 / 1e6).to_string(),
            Self::For(Interval::Infinite) => "infinite".to_owned(),
            Self::Found => "auto".to_owned(),
        }
    }
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The foreground's intensity, in percent.
    pub percent: u32,
    /// What held the background.
    pub held: Held,
    /// Foreground over that of `alone`.
    pub foreground: Summary,
    /// Background over that of `solo`.
    pub background: Summary,
    /// Background over what the foreground of `alone` left; none where it left next to nothing.
    pub left_used: Option<Summary>,
}

/// A figure as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Which.
    pub figure: Figure,
    /// What it shows.
    pub title: &'static str,
    /// The points, intensity by intensity, from the shortest interval on.
    pub points: Vec<Point>,
}

/// A sentence, in the simulator and here.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What the simulator gives at the same points.
    pub simulated: Claim,
    /// What was measured.
    pub here: Claim,
}

/// The intensity of a case, in percent, if it is of this family.
pub fn intensity_of(case: &str, family: &str) -> Option<u32> {
    case.strip_prefix(family)?.strip_prefix('-')?.parse().ok()
}

impl Measured {
    /// The figures of a study: those with two intensities and two fixed intervals at least.
    pub fn all(study: &Study) -> Vec<Self> {
        FIGURES.iter().filter_map(|(figure, family, title)| Self::of(study, *figure, family, title)).collect()
    }

    fn of(study: &Study, figure: Figure, family: &str, title: &'static str) -> Option<Self> {
        let cases = study.cases.iter().filter_map(|case| Some((intensity_of(&case.case, family)?, case)));
        let mut points: Vec<Point> = cases.flat_map(|(percent, case)| points(percent, case)).collect();
        points.sort_by_key(|point| (point.percent, point.held));
        let measured = Self { figure, title, points };
        let is_grid = measured.percents().len() >= 2 && measured.intervals().len() >= 2;
        is_grid.then_some(measured)
    }

    /// The intensities, in percent.
    pub fn percents(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.points.iter().map(|point| point.percent).collect();
        all.dedup();
        all
    }

    /// The vertical axis from below.
    fn rows(&self) -> Vec<Held> {
        let mut all: Vec<Held> = self.points.iter().map(|point| point.held).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The fixed intervals.
    fn intervals(&self) -> Vec<Nanos> {
        let finite = |held| match held {
            Held::For(Interval::Finite(length)) => Some(length),
            _ => None,
        };
        self.rows().into_iter().filter_map(finite).collect()
    }

    /// The point at an intensity.
    pub fn at(&self, percent: u32, held: Held) -> Option<&Point> {
        self.points.iter().find(|point| (point.percent, point.held) == (percent, held))
    }

    /// The points at fixed intervals as the simulator has them, by their medians.
    fn grid(&self) -> Grid {
        let cell = |point: &Point| {
            let Held::For(Interval::Finite(interval)) = point.held else { return None };
            Some(Cell {
                intensity: Share::percent(point.percent),
                interval,
                foreground: point.foreground.median,
                foreground_sd: 0.0,
                background: point.background.median,
                background_sd: 0.0,
            })
        };
        Grid { figure: self.figure, cells: self.points.iter().filter_map(cell).collect() }
    }

    /// The same points in the simulator.
    fn simulated(&self) -> Grid {
        let intervals = self.intervals();
        let row = |percent| self.figure.row_of(Share::percent(percent), &intervals, &EFFORT, SEED);
        Grid { figure: self.figure, cells: self.percents().into_iter().flat_map(row).collect() }
    }

    /// The specification's sentences.
    pub fn compared(&self) -> Vec<Compared> {
        let pairs = claims::judge(&self.simulated()).into_iter().zip(claims::judge(&self.grid()));
        pairs.map(|(simulated, here)| Compared { simulated, here }).collect()
    }

    /// The picture, as SVG: as in the simulator, but with a row without control and one for the automatic
    /// interval, and background as a part of what is left.
    ///
    /// # Errors
    /// When the library cannot draw it.
    pub fn picture(&self) -> Result<String, PlotError> {
        let (columns, rows) = (self.percents(), self.rows());
        let panel = |title: &str, value: &dyn Fn(&Point) -> Option<Summary>| {
            let tile = |point: &Point| {
                Some(Tile {
                    column: columns.iter().position(|percent| *percent == point.percent)?,
                    row: rows.iter().position(|held| *held == point.held)?,
                    value: value(point)?.median,
                })
            };
            plot::Panel { title: title.to_owned(), tiles: self.points.iter().filter_map(tile).collect() }
        };
        let service = Held::For(Interval::Finite(self.figure.service()));
        plot::draw(&Density {
            title: self.title.to_owned(),
            intensities: columns.iter().map(u32::to_string).collect(),
            intervals: rows.iter().map(|held| held.name()).collect(),
            below: rows.iter().filter(|held| **held < service).count(),
            panels: [
                panel("foreground / alone", &|point| Some(point.foreground)),
                panel("background / what is left", &|point| point.left_used),
            ],
        })
    }

    /// One line per point.
    pub fn csv(&self) -> String {
        let mut text = String::from("intensity_percent,interval_ms,rounds");
        for figure in ["foreground", "background", "left_used"] {
            text.push_str(&format!(",{figure},{figure}_min,{figure}_max"));
        }
        text.push('\n');
        for point in &self.points {
            text.push_str(&format!("{},{},{}", point.percent, point.held.name(), point.foreground.count));
            for summary in [Some(point.foreground), Some(point.background), point.left_used] {
                text.push_str(&summary.map_or_else(
                    || ",,,".to_owned(),
                    |s| format!(",{:.4},{:.4},{:.4}", s.median, s.min, s.max),
                ));
            }
            text.push('\n');
        }
        text
    }
}

fn points(percent: u32, case: &CaseStudy) -> impl Iterator<Item = Point> {
    case.rows.iter().filter_map(move |row: &Row| {
        Some(Point {
            percent,
            held: Held::of(&row.contender)?,
            foreground: row.foreground?,
            background: row.background?,
            left_used: row.idle_used,
        })
    })
}

#[cfg(test)]
mod tests;
