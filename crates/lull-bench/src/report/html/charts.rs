//! The pictures of the page: SVG without a background of its own, whose black, grey and white follow the
//! page's colours.
//!
//! Contenders have the colours that they have in all pictures, named once in a legend of the page
//! ([`legend`]) and not within pictures, where a dozen names would cover the curves. In the frontier each
//! also has its number there, for who cannot tell the colours apart.

use std::fmt::Write as _;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::record::{self, Run};
use crate::report::markup::escaped;
// Their ink and line colours are those that the page's style replaces in the dark.
use crate::report::picture::{Area, Drawn, FAINT, INK, color, font, frontier_axes};
use crate::study::pairs::{Pair, Standing};

/// White on a colour: stays white in the dark.
const ON_COLOR: RGBColor = RGBColor(255, 255, 254);

fn drawn(size: (u32, u32), paint: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(|error| error.to_string())?;
        paint(&area).map_err(|error| error.to_string())?;
        area.present().map_err(|error| error.to_string())?;
    }
    // Without the line that makes it a file.
    Ok(svg.find("<svg").and_then(|start| svg.get(start..)).unwrap_or_default().to_owned())
}

/// The number that a contender has in a pair's legend.
fn numbers(pair: &Pair) -> impl Iterator<Item = (usize, &Standing)> {
    pair.contenders.iter().enumerate().map(|(index, one)| (index + 1, one))
}

/// Numbers, colours and names.
pub(super) fn legend(pair: &Pair) -> String {
    let mut text = String::from("<ul class=legend>");
    for (number, one) in numbers(pair) {
        let RGBColor(red, green, blue) = color(&one.contender);
        let _ = write!(
            text,
            "<li><i style=\"background:#{red:02x}{green:02x}{blue:02x}\"></i>{number} {}</li>",
            escaped(&one.contender)
        );
    }
    text.push_str("</ul>");
    text
}

/// Latencies in milliseconds and the part of requests that took at most as long, over all rounds.
fn pooled(runs: &[(usize, &Run)], contender: &str) -> Vec<(f64, f64)> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let own = runs.iter().filter(|(_, run)| run.contender == contender);
    for report in own.filter_map(|(_, run)| run.foreground.as_ref()) {
        let mut before = 0;
        for (at, count) in &report.distribution {
            steps.push((*at, count - before));
            before = *count;
        }
    }
    steps.sort_unstable();
    let all: u64 = steps.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    steps
        .into_iter()
        .map(|(at, count)| {
            seen += count;
            (at as f64 / 1e6, seen as f64 / all.max(1) as f64)
        })
        .collect()
}

/// Response times as curves: the share of requests that took at most so long. Nothing where there is none.
pub(super) fn distribution(pair: &Pair, runs: &[(usize, &Run)]) -> Result<String, String> {
    let curves: Vec<(&str, Vec<(f64, f64)>)> = pair
        .contenders
        .iter()
        .map(|one| (one.contender.as_str(), pooled(runs, &one.contender)))
        .filter(|(_, curve)| !curve.is_empty())
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve.iter().map(|(at, _)| *at));
    let (low, high) = (points().fold(f64::INFINITY, f64::min), points().fold(0.0, f64::max));
    if curves.is_empty() || high <= 0.0 {
        return Ok(String::new());
    }
    drawn((620, 340), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d((low.max(1e-4)..high * 1.1).log_scale(), 0.0..1.0)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(FAINT)
            .x_desc("response time in ms")
            .y_desc("share of requests")
            .label_style(font(13))
            .draw()?;
        for (name, curve) in &curves {
            let width = if *name == "lull" { 3 } else { 2 };
            chart.draw_series(LineSeries::new(curve.iter().copied(), color(name).stroke_width(width)))?;
        }
        Ok(())
    })
}

/// Foreground p99 against background work, and the frontier as a dashed line. Nothing where no contender has
/// both.
pub(super) fn frontier(pair: &Pair) -> Result<String, String> {
    let points: Vec<(usize, &Standing, crate::stats::Median, crate::stats::Median)> =
        numbers(pair).filter_map(|(number, one)| Some((number, one, one.p99?, one.background?))).collect();
    if points.is_empty() {
        return Ok(String::new());
    }
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(1.0, f64::max);
    let right = most(&mut points.iter().map(|(_, _, p99, _)| p99.range().high)) * 1.2;
    let left = points.iter().map(|(_, _, p99, _)| p99.range().low).fold(1.0, f64::min).max(1e-3) * 0.85;
    let top = points.iter().map(|(_, _, _, work)| work.range().high).fold(0.01, f64::max) * 1.1;
    drawn((620, 340), |area| {
        let mut chart = frontier_axes(area, [left, right], top, "foreground p99 / alone (left is better)")?;
        let mut best: Vec<(f64, f64)> = points
            .iter()
            .filter(|(_, one, ..)| pair.frontier.contains(&one.contender))
            .map(|(_, _, p99, work)| (p99.value, work.value))
            .collect();
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        chart.draw_series(DashedLineSeries::new(best, 5, 4, INK.stroke_width(1)))?;
        for (number, one, p99, work) in points {
            let (x, y, color) = (p99.value, work.value, color(&one.contender));
            chart.draw_series([
                PathElement::new(
                    [(p99.range().low.max(left), y), (p99.range().high, y)],
                    color.stroke_width(1),
                ),
                PathElement::new([(x, work.range().low), (x, work.range().high)], color.stroke_width(1)),
            ])?;
            chart.draw_series([Circle::new((x, y), 9, color.filled())])?;
            let label = font(12).color(&ON_COLOR).pos(Pos::new(HPos::Center, VPos::Center));
            chart.draw_series([EmptyElement::at((x, y)) + Text::new(number.to_string(), (0, 0), label)])?;
        }
        Ok(())
    })
}

/// CPUs over the time of one run; grey where the background stood still.
pub(super) fn over_time(run: &Run) -> Result<String, String> {
    let moments = &run.over_time;
    let end = moments.last().map_or(1.0, |moment| moment.at_s);
    let most = moments.iter().map(|m| m.background_cpus + m.other_cpus).fold(1.0, f64::max);
    drawn((520, 150), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(6)
            .x_label_area_size(26)
            .y_label_area_size(44)
            .build_cartesian_2d(0.0..end, 0.0..most * 1.05)?;
        chart.configure_mesh().disable_mesh().y_desc("CPUs").label_style(font(12)).y_labels(4).draw()?;
        let starts = std::iter::once(0.0).chain(moments.iter().map(|moment| moment.at_s));
        let held = starts.zip(moments).filter(|(_, moment)| moment.held);
        chart.draw_series(held.map(|(from, moment)| {
            Rectangle::new([(from, 0.0), (moment.at_s, most * 1.05)], FAINT.filled())
        }))?;
        let line = |of: fn(&record::Moment) -> f64| moments.iter().map(move |m| (m.at_s, of(m)));
        chart.draw_series(LineSeries::new(line(|m| m.other_cpus), INK.stroke_width(2)))?;
        chart.draw_series(LineSeries::new(
            line(|m| m.background_cpus),
            color(&run.contender).stroke_width(2),
        ))?;
        Ok(())
    })
}
