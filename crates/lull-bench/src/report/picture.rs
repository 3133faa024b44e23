//! Pictures as SVG: bars with their range, background work against foreground latency, and curves over
//! intensities.
//!
//! Every contender has one colour in all pictures. Latency ratios span decades, so their axis is logarithmic.
//! Better is to the upper left: more background work at less latency.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Error;
use crate::contender::known::named;
use crate::stats::Summary;
use crate::study::cpu::tail;
use crate::study::figures::intensity_of;
use crate::study::{CaseStudy, Row, Study};

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What a picture shows of a row.
pub type Figure = fn(&Row) -> Option<Summary>;
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;
type FrontierChart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<LogCoord<f64>, RangedCoordf64>>;

pub(crate) const INK: RGBColor = RGBColor(40, 40, 40);
pub(crate) const FAINT: RGBColor = RGBColor(225, 225, 225);
/// That of contenders without a name, as lull's variants.
const OTHER: u32 = 0x6e_be_96;

/// The colour of a contender.
pub(crate) fn color(contender: &str) -> RGBColor {
    let [_, red, green, blue] = named(contender).map_or(OTHER, |known| known.color).to_be_bytes();
    RGBColor(red, green, blue)
}

pub(crate) fn font(size: u32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

/// A picture of this size, on white.
pub(crate) fn draw(
    path: &Path,
    size: (u32, u32),
    paint: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), Error> {
    let area = SVGBackend::new(path, size).into_drawing_area();
    let painted = area.fill(&WHITE).map_err(Into::into).and_then(|()| paint(&area));
    painted
        .and_then(|()| area.present().map_err(Into::into))
        .map_err(|problem| Error::Picture { path: path.to_owned(), problem: problem.to_string() })
}

/// One bar: whose, how long, how far it ranges, and what is written at its end.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The contender.
    pub contender: String,
    /// Length and range.
    pub value: Summary,
    /// The value with its unit.
    pub label: String,
}

/// A group of bars with one scale.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is measured, and which direction is better.
    pub title: String,
    /// The bars from top to bottom.
    pub bars: Vec<Bar>,
}

impl Panel {
    /// A panel of the rows that have the figure.
    pub fn of(title: &str, rows: &[Row], figure: Figure, label: impl Fn(f64) -> String) -> Self {
        let bars = rows.iter().filter_map(|row| {
            let value = figure(row)?;
            Some(Bar { contender: row.contender.clone(), value, label: label(value.median) })
        });
        Self { title: title.to_owned(), bars: bars.collect() }
    }
}

/// Panels of horizontal bars side by side.
pub fn bars(path: &Path, title: &str, panels: &[Panel]) -> Result<(), Error> {
    let most = panels.iter().map(|panel| panel.bars.len()).max().unwrap_or(0);
    let count = panels.len().max(1);
    let size = (480 * u32::try_from(count).unwrap_or(1), 90 + 34 * u32::try_from(most).unwrap_or(1));
    draw(path, size, |area| {
        let area = area.titled(title, font(18))?;
        for (place, panel) in area.split_evenly((1, count)).iter().zip(panels) {
            paint_bars(place, panel)?;
        }
        Ok(())
    })
}

fn paint_bars(area: &Area<'_>, panel: &Panel) -> Drawn {
    let (width, _) = area.dim_in_pixel();
    let [left, right] = [130, i32::try_from(width).unwrap_or(480) - 90];
    let longest = panel.bars.iter().map(|bar| bar.value.max).fold(f64::MIN_POSITIVE, f64::max);
    let reach = |value: f64| left + rounded((value / longest).clamp(0.0, 1.0) * f64::from(right - left));
    area.draw(&Text::new(panel.title.clone(), (12, 12), font(14)))?;
    for (index, bar) in (0_i32..).zip(&panel.bars) {
        let (top, middle, bottom) = (42 + 34 * index, 54 + 34 * index, 66 + 34 * index);
        let name = font(14).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(short(&bar.contender), (left - 10, middle), name))?;
        let end = reach(bar.value.median).max(left + 1);
        area.draw(&Rectangle::new([(left, top), (end, bottom)], color(&bar.contender).filled()))?;
        let (low, high) = (reach(bar.value.min), reach(bar.value.max));
        area.draw(&PathElement::new([(low, middle), (high, middle)], INK.stroke_width(1)))?;
        for tip in [low, high] {
            area.draw(&PathElement::new([(tip, middle - 4), (tip, middle + 4)], INK.stroke_width(1)))?;
        }
        let value = font(14).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(bar.label.clone(), (end.max(high) + 8, middle), value))?;
    }
    Ok(())
}

/// Names of lull variants without what they share, and cut at the end when still long.
fn short(name: &str) -> String {
    const MOST: usize = 18;
    let name = name.replace("lull --interval ", "P ").replace(" --depth ", ", depth ").replace("lull --", "");
    if name.chars().count() <= MOST { name } else { name.chars().take(MOST - 1).chain(['…']).collect() }
}

#[expect(clippy::cast_possible_truncation, reason = "a position within a picture")]
fn rounded(value: f64) -> i32 {
    value.round() as i32
}

/// One case: background work against the tail of the latency on the left, both as bars on the right.
pub fn case(path: &Path, case: &CaseStudy) -> Result<(), Error> {
    let (name, tail) = tail(&case.case);
    let panels = [
        Panel::of(&format!("foreground {name} / alone (shorter is better)"), &case.rows, tail, |v| {
            format!("{v:.2}×")
        }),
        Panel::of(
            "background / solo (longer is better)",
            &case.rows,
            |row| row.background,
            |v| format!("{v:.2}×"),
        ),
    ];
    let most = panels.iter().map(|panel| panel.bars.len()).max().unwrap_or(0);
    let height = 130 + 68 * u32::try_from(most).unwrap_or(0);
    draw(path, (1240, height.max(480)), |area| {
        let area = area.titled(&case.case, font(18))?;
        let (left, right) = area.split_horizontally(700);
        paint_frontier(&left, &case.rows, (name, tail))?;
        for (place, panel) in right.split_evenly((panels.len(), 1)).iter().zip(&panels) {
            paint_bars(place, panel)?;
        }
        Ok(())
    })
}

/// Whether a line of a logarithmic axis is labelled: 1, 2 and 5 of each decade. Over decades, a label at
/// every line would cover its neighbours.
pub(crate) fn stands(value: f64) -> bool {
    let digit = value / 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().any(|one| (digit - one).abs() < 0.01)
}

/// The axes of a frontier: the foreground's ratio, with a line where it is alone, and background up to `top`.
pub(crate) fn frontier_axes<'a, 'b>(
    area: &'a Area<'b>,
    [left, right]: [f64; 2],
    top: f64,
    about: &str,
) -> Result<FrontierChart<'a, 'b>, Box<dyn std::error::Error>> {
    let ratio_label = |value: &f64| {
        let is_short = right / left < 5.0;
        if is_short || stands(*value) { format!("{value:.2}") } else { String::new() }
    };
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d((left..right).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .x_desc(about)
        .y_desc("background / solo")
        .x_label_formatter(&ratio_label)
        .y_label_formatter(&|value| format!("{value:.2}"))
        .label_style(font(13))
        .draw()?;
    chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, top)], FAINT.stroke_width(2))])?;
    Ok(chart)
}

fn paint_frontier(area: &Area<'_>, rows: &[Row], (name, tail): (&str, Figure)) -> Drawn {
    let points: Vec<(&Row, Summary, Summary)> =
        rows.iter().filter_map(|row| Some((row, tail(row)?, row.background?))).collect();
    let span = |find: fn(f64, f64) -> f64, of: fn(&(&Row, Summary, Summary)) -> f64| {
        points.iter().map(of).fold(1.0, find)
    };
    let across = [span(f64::min, |(_, p99, _)| p99.min), span(f64::max, |(_, p99, _)| p99.max)];
    let top = span(f64::max, |(_, _, background)| background.max);
    let about = format!("foreground {name} / alone");
    // To the right there is room for names.
    let mut chart = frontier_axes(area, [across[0] * 0.85, across[1] * 1.6], top * 1.1, &about)?;
    for (row, p99, background) in points {
        let color = color(&row.contender);
        let (x, y) = (p99.median, background.median);
        chart.draw_series([
            PathElement::new([(p99.min, y), (p99.max, y)], color.mix(0.6)),
            PathElement::new([(x, background.min), (x, background.max)], color.mix(0.6)),
        ])?;
        chart.draw_series([Circle::new((x, y), 5, color.filled())])?;
        let label = font(14).color(&color);
        chart.draw_series([EmptyElement::at((x, y)) + Text::new(short(&row.contender), (8, -16), label)])?;
    }
    Ok(())
}

/// Cases that differ in the foreground's intensity alone: the start of their names, and what their picture is
/// called.
pub const FAMILIES: [(&str, &str); 6] = [
    ("slow", "slow disk: foreground intensity in percent"),
    ("udp-udp", "datagrams beside datagrams (the paper's figure 9): foreground intensity in percent"),
    ("tcp-udp", "TCP beside datagrams (figure 11): foreground intensity in percent"),
    ("tcp-udp-far", "TCP beside datagrams, far away (figure 12): foreground intensity in percent"),
    ("tcp-tcp", "TCP beside TCP: foreground intensity in percent"),
    ("tcp-down", "TCP beside a download: foreground intensity in percent"),
];

/// Foreground and background over the intensities of a family; false if the study has fewer than two of it.
pub fn family(path: &Path, study: &Study, (family, title): (&str, &str)) -> Result<bool, Error> {
    let of_family = |case: &str| intensity_of(case, family).map(f64::from);
    let mut cases: Vec<(f64, &CaseStudy)> =
        study.cases.iter().filter_map(|case| Some((of_family(&case.case)?, case))).collect();
    cases.sort_by(|a, b| a.0.total_cmp(&b.0));
    if cases.len() < 2 {
        return Ok(false);
    }
    let figures: [(&str, Figure); 2] =
        [("foreground / alone", |row| row.foreground), ("background / solo", |row| row.background)];
    draw(path, (1100, 440), |area| {
        let area = area.titled(title, font(18))?;
        for (place, (title, figure)) in area.split_evenly((1, 2)).iter().zip(figures) {
            paint_curves(place, title, &cases, figure)?;
        }
        Ok(())
    })?;
    Ok(true)
}

fn paint_curves(area: &Area<'_>, title: &str, cases: &[(f64, &CaseStudy)], figure: Figure) -> Drawn {
    let mut names: Vec<&str> = Vec::new();
    for row in cases.iter().flat_map(|(_, case)| &case.rows) {
        let reference = matches!(row.contender.as_str(), "alone" | "solo");
        if !reference && figure(row).is_some() && !names.contains(&row.contender.as_str()) {
            names.push(&row.contender);
        }
    }
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(title, font(14))
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..105.0, 0.0..1.1)?;
    chart.configure_mesh().light_line_style(WHITE).bold_line_style(FAINT).label_style(font(13)).draw()?;
    for name in names {
        let points: Vec<(f64, f64)> = cases
            .iter()
            .filter_map(|(percent, case)| {
                let row = case.rows.iter().find(|row| row.contender == name)?;
                Some((*percent, figure(row)?.median))
            })
            .collect();
        let color = color(name);
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
            .label(short(name))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    chart.configure_series_labels().position(SeriesLabelPosition::LowerLeft).label_font(font(12)).draw()?;
    Ok(())
}
