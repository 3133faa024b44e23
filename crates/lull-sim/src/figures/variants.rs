//! The four variants over the interval, simulated and computed.
//!
//! A closed foreground with an exponential think time of 60 ms and a service of 20 ms, so that gaps of all lengths occur,
//! beside two kinds of background: greedy (another request always waits: event b in B) and one client that thinks for
//! 5 ms (its queue falls empty: event i in B).

use std::fmt::Write;

use lull_core::{Interval, Nanos, Setting, Variant};
use plotters::prelude::*;
use serde::Serialize;

use super::Effort;
use super::plot::{Area, CURVES, Drawn, FAINT, PlotError, font, picture};
use crate::class::Class;
use crate::device::{Device, Server};
use crate::policy::Policy;
use crate::span::Span;
use crate::theory::{Background, Closed, Rules, ServiceTime};
use crate::workload::Workload;
use crate::world::{Client, World};

const SERVICE: Nanos = Nanos::from_millis(20);
const THINK: Span = Span::Exponential(Nanos::from_millis(60));
const PAUSE: Nanos = Nanos::from_millis(5);

/// One point of one curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Which machine.
    pub variant: Variant,
    /// Whether the background is greedy.
    pub greedy: bool,
    /// The preemption interval.
    pub interval: Nanos,
    /// Foreground relative to alone, simulated.
    pub foreground: f64,
    /// The same, computed.
    pub foreground_theory: f64,
    /// Share of the time that background is served, simulated.
    pub background: f64,
    /// The same, computed.
    pub background_theory: f64,
}

fn intervals(effort: &Effort) -> Vec<Nanos> {
    let step = if effort.coarse { 4 } else { 1 };
    (0..=150).step_by(10).step_by(step).map(Nanos::from_millis).collect()
}

/// All points of one variant beside one kind of background.
pub fn curve(variant: Variant, greedy: bool, effort: &Effort, seed: u64) -> Vec<Point> {
    let think = (!greedy).then_some(PAUSE);
    let background = Background { service: ServiceTime::Fixed(SERVICE), think };
    let closed = Closed { think: THINK, service: SERVICE };
    let length = effort.length.times(u64::from(effort.runs.max(1)) * 4);
    let rate = |interval: Option<Interval>| {
        let span = Span::Fixed(SERVICE);
        let device = Device::Server(Server { slots: 1, foreground: span, background: span, drag: 0.0 });
        let policy = interval.map_or(Policy::Alone, |interval| {
            Policy::Fixed(Setting { interval, variant, ..Setting::default() })
        });
        let mut world = World::new(seed);
        let station = world.add_station(device, &policy);
        let client = |class, think| Client {
            station,
            class,
            workload: Workload::Closed { think },
            bytes: 512,
            work: None,
            sequential: false,
        };
        world.add_client(client(Class::Foreground, THINK));
        for _ in 0..if greedy { 2 } else { 1 } {
            world.add_client(client(Class::Background, Span::Fixed(think.unwrap_or_default())));
        }
        world.run_until(length);
        [Class::Foreground, Class::Background]
            .map(|class| world.tally(station, class).completed as f64 / length.as_secs_f64())
    };
    let [alone, _] = rate(None);
    let point = |interval| {
        let rules = Rules { interval: Interval::Finite(interval), variant };
        let forecast = closed.forecast(&background, &rules);
        let [foreground, served] = rate(Some(rules.interval));
        Point {
            variant,
            greedy,
            interval,
            foreground: foreground / alone,
            foreground_theory: forecast.foreground,
            background: served * SERVICE.as_secs_f64(),
            background_theory: forecast.background_per_s * SERVICE.as_secs_f64(),
        }
    };
    intervals(effort).into_iter().map(point).collect()
}

/// One line per point.
pub fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "variant,background,interval_ms,foreground,foreground_theory,background_share,background_share_theory\n",
    );
    for point in points {
        let kind = if point.greedy { "greedy" } else { "thinking" };
        let _ = writeln!(
            text,
            "{},{kind},{},{:.4},{:.4},{:.4},{:.4}",
            point.variant,
            point.interval.0 as f64 / 1e6,
            point.foreground,
            point.foreground_theory,
            point.background,
            point.background_theory
        );
    }
    text
}

/// The largest difference between theory and simulation, relative to the simulated value; values below 5% count as 5%.
pub fn largest_error(points: &[Point]) -> f64 {
    let error = |theory: f64, simulated: f64| (theory - simulated).abs() / simulated.max(0.05);
    points
        .iter()
        .flat_map(|p| [error(p.foreground_theory, p.foreground), error(p.background_theory, p.background)])
        .fold(0.0, f64::max)
}

/// Four panels: both classes beside both kinds of background; lines simulated, dots computed.
pub fn plot(points: &[Point]) -> Result<String, PlotError> {
    picture((1_060, 720), |area| {
        let area = area.titled("The four variants: simulated (lines) and computed (dots)", font(18))?;
        let panels = area.split_evenly((2, 2));
        for (row, greedy) in [(0, true), (1, false)] {
            let kind = if greedy { "greedy background" } else { "background thinks 5 ms" };
            let some: Vec<Point> = points.iter().copied().filter(|point| point.greedy == greedy).collect();
            panel(&panels[2 * row], &format!("foreground / alone, {kind}"), &some, |p| {
                (p.foreground, p.foreground_theory)
            })?;
            let title = format!("share of time for background, {kind}");
            panel(&panels[2 * row + 1], &title, &some, |p| (p.background, p.background_theory))?;
        }
        Ok(())
    })
}

fn panel(area: &Area<'_>, title: &str, points: &[Point], value: fn(&Point) -> (f64, f64)) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(title, font(14))
        .x_label_area_size(34)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..155.0, 0.0..1.05)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .x_desc("interval, ms")
        .label_style(font(12))
        .draw()?;
    for (variant, color) in Variant::ALL.into_iter().zip(CURVES) {
        let of: Vec<&Point> = points.iter().filter(|point| point.variant == variant).collect();
        let at = |p: &Point| p.interval.0 as f64 / 1e6;
        chart
            .draw_series(LineSeries::new(of.iter().map(|p| (at(p), value(p).0)), color.stroke_width(2)))?
            .label(variant.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        chart.draw_series(of.iter().map(|p| Circle::new((at(p), value(p).1), 3, color.filled())))?;
    }
    chart.configure_series_labels().position(SeriesLabelPosition::MiddleRight).label_font(font(12)).draw()?;
    Ok(())
}

#[cfg(test)]
mod tests;
