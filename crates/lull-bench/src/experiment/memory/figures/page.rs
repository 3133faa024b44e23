//! What is measured of the Linger paper's memory figures, and the ratios that are made of it.
//!
//! A run that was given up is known to take longer than the limit: it counts as the longest, and a median
//! among such runs is a lower bound. Ratios are taken to the host alone in the same round. Units: seconds,
//! bytes.

use serde::Serialize;

use super::race::{Sample, Side};
use crate::contender::Contender;
use crate::record::Host;
use crate::stats::Summary;

/// Bytes of the kernel's own batch.
const CLUSTER: u64 = 32 * 4096;
/// When the host comes, and when it begins to rest, as parts of the span.
pub(super) const COMES: f64 = 0.18;
pub(super) const RESTS: f64 = 0.70;
/// The end of a phase that counts as what it leads to, as a part of the span.
const SETTLED: f64 = 0.1;

/// A row of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Row {
    /// One after the other.
    Serial,
    /// At the same time, without any control.
    Together,
    /// The host first, the guest at the lowest priority.
    HostFirstNice,
    /// The guest first, at the lowest priority.
    GuestFirstNice,
    /// The host first, the guest under lull.
    HostFirstLull,
    /// The guest first, under lull.
    GuestFirstLull,
}

impl Row {
    /// All of them, as in the paper.
    pub(super) const ALL: [Self; 6] = [
        Self::Serial,
        Self::Together,
        Self::HostFirstNice,
        Self::GuestFirstNice,
        Self::HostFirstLull,
        Self::GuestFirstLull,
    ];

    /// Its name in CSV files.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Together => "together-equal",
            Self::HostFirstNice => "host-first-nice",
            Self::GuestFirstNice => "guest-first-nice",
            Self::HostFirstLull => "host-first-lull",
            Self::GuestFirstLull => "guest-first-lull",
        }
    }

    /// How the guest is run.
    pub(super) fn control(self) -> Contender {
        match self {
            Self::Serial | Self::Together => Contender::Unmanaged,
            Self::HostFirstNice | Self::GuestFirstNice => Contender::Nice,
            Self::HostFirstLull | Self::GuestFirstLull => Contender::lull_now([]),
        }
    }

    /// Who is first, if not nobody.
    pub(super) const fn first(self) -> Option<Side> {
        match self {
            Self::Serial | Self::Together => None,
            Self::HostFirstNice | Self::HostFirstLull => Some(Side::Host),
            Self::GuestFirstNice | Self::GuestFirstLull => Some(Side::Guest),
        }
    }
}

/// One run of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Timed {
    /// Which.
    pub row: Row,
    /// The round, from 1.
    pub round: u32,
    /// When each was done, since the first was started; none if it was given up.
    pub host_s: Option<f64>,
    /// The guest likewise.
    pub guest_s: Option<f64>,
    /// How long the host took from its own start; none if it was given up.
    pub host_took_s: Option<f64>,
    /// After how long runs are given up.
    pub limit_s: f64,
    /// Pages written to swap and read from it.
    pub swapped_pages: [u64; 2],
}

/// Memory over time under one control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Series {
    /// The guest's control.
    pub control: String,
    /// The span that was asked for.
    pub span_s: f64,
    /// When the host came: later than planned if the guest was slow to fill its set.
    pub host_came_s: f64,
    /// The thresholds in force, if the control has any.
    pub thresholds: Option<[u64; 2]>,
    /// What both had.
    #[serde(rename = "moments")]
    pub samples: Vec<Sample>,
}

/// Parts of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The guest alone.
    Alone,
    /// The host works.
    Works,
    /// The host rests.
    Rests,
}

impl Phase {
    /// How long after the host's coming it ends, as a part of the span.
    const fn end(self) -> f64 {
        match self {
            Self::Alone => 0.0,
            Self::Works => RESTS - COMES,
            Self::Rests => 1.0 - COMES,
        }
    }
}

impl Series {
    /// What host and guest had on average at the end of a phase, in bytes.
    pub(super) fn at_end_of(&self, phase: Phase) -> Option<[f64; 2]> {
        let end_s = self.host_came_s + phase.end() * self.span_s;
        let settled = end_s - SETTLED * self.span_s..end_s;
        let within: Vec<&Sample> =
            self.samples.iter().filter(|sample| settled.contains(&sample.at_s)).collect();
        let mean = |of: fn(&Sample) -> u64| {
            within.iter().map(|sample| of(sample) as f64).sum::<f64>() / within.len() as f64
        };
        let has = !within.is_empty();
        has.then(|| [mean(|sample| sample.host.resident_bytes), mean(|sample| sample.guest.resident_bytes)])
    }
}

/// A point, or a line, of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Point {
    /// No guest.
    Alone,
    /// A guest at the lowest priority.
    Nice,
    /// A guest under lull that gives this many batches of the kernel at a time.
    Factor(u64),
    /// A guest under lull as it is.
    Default,
}

impl Point {
    /// Its name in CSV files.
    pub(super) fn name(self) -> String {
        match self {
            Self::Alone => "alone".to_owned(),
            Self::Nice => "nice".to_owned(),
            Self::Factor(factor) => factor.to_string(),
            Self::Default => "lull".to_owned(),
        }
    }

    /// How the guest is run.
    pub(super) fn control(self) -> Contender {
        match self {
            Self::Alone => Contender::Unmanaged,
            Self::Nice => Contender::Nice,
            Self::Factor(factor) => {
                Contender::lull_now(["--mem-batch".to_owned(), format!("{}B", factor * CLUSTER)])
            }
            Self::Default => Contender::lull_now([]),
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Filled {
    /// Which.
    pub point: Point,
    /// The round, from 1.
    pub round: u32,
    /// How long the host took; none if it was given up.
    pub host_s: Option<f64>,
    /// After how long runs are given up.
    pub limit_s: f64,
    /// Pages written to swap and read from it.
    pub swapped_pages: [u64; 2],
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Page {
    /// Where and when.
    pub host: Host,
    /// By what the paper's sizes were divided.
    pub scale: u64,
    /// Rounds of tables and figure 5.
    pub rounds: u32,
    /// The work of each party in the tables.
    pub requests: u64,
    /// Runs of tables 2 and 3.
    pub tables: Vec<Timed>,
    /// Runs of figure 4.
    pub over_time: Vec<Series>,
    /// Runs of figure 5.
    pub batches: Vec<Filled>,
    /// What could not be measured, and why.
    pub missing: Vec<String>,
}

/// A median of which perhaps only a lower bound is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Middle {
    /// It, or the bound.
    pub value: f64,
    /// The least and the greatest, the limit for those given up.
    pub range: [f64; 2],
    /// Whether it is known to be more.
    pub is_bound: bool,
}

impl Middle {
    /// Of values of which some are only known to be more; none if there are none.
    pub(super) fn of(values: impl IntoIterator<Item = (f64, bool)>) -> Option<Self> {
        let mut sorted: Vec<(f64, bool)> = values.into_iter().collect();
        // One that is known to be more goes behind all that are known.
        sorted.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        let half = sorted.len() / 2;
        let upper = sorted.get(half)?;
        let lower = if sorted.len() % 2 == 1 { upper } else { sorted.get(half - 1)? };
        let all = Summary::of(sorted.iter().map(|(value, _)| *value))?;
        let value = f64::midpoint(lower.0, upper.0);
        Some(Self { value, range: [all.min, all.max], is_bound: upper.1 })
    }

    /// As a multiple: `1.08 [1.05-1.11]`, or `> 6.0`.
    pub(super) fn times(&self) -> String {
        let [min, max] = self.range;
        if self.is_bound {
            format!("> {:.1}", self.value)
        } else {
            format!("{:.2} [{min:.2}-{max:.2}]", self.value)
        }
    }

    /// As a loss over 1: `8%`, or `> 500%`.
    pub(super) fn delay(&self) -> String {
        let more = if self.is_bound { "> " } else { "" };
        format!("{more}{:.1}%", (self.value - 1.0) * 100.0)
    }
}

impl Page {
    /// Whether nothing at all was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.over_time.is_empty() && self.batches.is_empty()
    }

    /// The host alone in a round of the tables.
    fn alone_s(&self, round: u32) -> Option<f64> {
        self.tables.iter().find(|timed| timed.row == Row::Serial && timed.round == round)?.host_s
    }

    /// A time of a row's runs, over the host's alone in the same round.
    pub(super) fn of_row(&self, row: Row, time: fn(&Timed) -> Option<f64>) -> Option<Middle> {
        let runs = self.tables.iter().filter(|timed| timed.row == row);
        Middle::of(runs.filter_map(|timed| {
            let alone = self.alone_s(timed.round)?;
            Some((time(timed).unwrap_or(timed.limit_s) / alone, time(timed).is_none()))
        }))
    }

    /// The host's time at a point of figure 5, over its time alone in the same round.
    pub(super) fn of_point(&self, point: Point) -> Option<Middle> {
        let of = |point: Point| self.batches.iter().filter(move |filled| filled.point == point);
        Middle::of(of(point).filter_map(|filled| {
            let alone = of(Point::Alone).find(|alone| alone.round == filled.round)?.host_s?;
            Some((filled.host_s.unwrap_or(filled.limit_s) / alone, filled.host_s.is_none()))
        }))
    }

    /// The factors of figure 5, rising.
    pub(super) fn factors(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self
            .batches
            .iter()
            .filter_map(|filled| if let Point::Factor(factor) = filled.point { Some(factor) } else { None })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
