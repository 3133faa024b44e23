//! Density plots as the paper draws them: the lighter, the more throughput.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Cell, Grid};

/// Why a picture could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw the picture: {0}")]
pub struct PlotError(pub String);

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;

pub(crate) const INK: RGBColor = RGBColor(40, 40, 40);
pub(crate) const FAINT: RGBColor = RGBColor(225, 225, 225);
/// One colour per curve.
pub(crate) const CURVES: [RGBColor; 5] = [
    RGBColor(30, 140, 90),
    RGBColor(200, 60, 50),
    RGBColor(90, 110, 190),
    RGBColor(225, 140, 40),
    RGBColor(120, 120, 120),
];

/// A picture of this size, as SVG text.
pub(crate) fn picture(size: (u32, u32), paint: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, PlotError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let painted = area.fill(&WHITE).map_err(Into::into).and_then(|()| paint(&area));
        painted
            .and_then(|()| area.present().map_err(Into::into))
            .map_err(|problem| PlotError(problem.to_string()))?;
    }
    Ok(text)
}

pub(crate) fn font(size: u32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

type Value = fn(&Cell) -> f64;

/// Both classes side by side.
pub fn density(grid: &Grid) -> Result<String, PlotError> {
    picture((1_060, 480), |area| {
        let area = area.titled(grid.figure.title(), font(18))?;
        let (panels, scale) = area.split_horizontally(960);
        let halves = panels.split_evenly((1, 2));
        let classes: [(&str, Value); 2] =
            [("foreground / alone", |cell| cell.foreground), ("background / alone", |cell| cell.background)];
        for (half, (title, value)) in halves.iter().zip(classes) {
            panel(half, grid, title, value)?;
        }
        legend(&scale)
    })
}

fn panel(area: &Area<'_>, grid: &Grid, title: &str, value: Value) -> Drawn {
    let mut xs: Vec<f64> = grid.cells.iter().map(|cell| cell.intensity.fraction() * 100.0).collect();
    let mut ys: Vec<f64> = grid.cells.iter().map(|cell| cell.interval.0 as f64 / 1e6).collect();
    for axis in [&mut xs, &mut ys] {
        axis.sort_by(f64::total_cmp);
        axis.dedup();
    }
    // Intervals are spaced as they come: the short ones matter as much as the long ones.
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(title, font(14))
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..xs.len() as f64, 0.0..ys.len() as f64)?;
    for cell in &grid.cells {
        let place = |axis: &[f64], at: f64| axis.iter().position(|value| *value == at).unwrap_or(0) as f64;
        let x = place(&xs, cell.intensity.fraction() * 100.0);
        let y = place(&ys, cell.interval.0 as f64 / 1e6);
        let shade = shade(value(cell));
        chart.draw_series([Rectangle::new([(x, y), (x + 1.0, y + 1.0)], shade.filled())])?;
    }
    let service = grid.figure.service().0 as f64 / 1e6;
    let line = ys.iter().filter(|interval| **interval < service).count() as f64;
    chart.draw_series(DashedLineSeries::new(
        [(0.0, line), (xs.len() as f64, line)],
        5,
        4,
        RGBColor(200, 60, 50).stroke_width(1),
    ))?;
    let plot = chart.plotting_area();
    for (index, x) in xs.iter().enumerate() {
        let (x_px, y_px) = plot.map_coordinate(&(index as f64 + 0.5, 0.0));
        let (left, top) = area.get_base_pixel();
        let style = font(11).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(format!("{x}"), (x_px - left, y_px - top + 4), style))?;
    }
    for (index, y) in ys.iter().enumerate() {
        let (x_px, y_px) = plot.map_coordinate(&(0.0, index as f64 + 0.5));
        let (left, top) = area.get_base_pixel();
        let style = font(11).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(format!("{y}"), (x_px - left - 5, y_px - top), style))?;
    }
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (i32::try_from(width).unwrap_or(480), i32::try_from(height).unwrap_or(440));
    let below = font(12).pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw(&Text::new("foreground intensity, percent", (width / 2 + 28, height - 4), below))?;
    area.draw(&Text::new("interval, ms", (6, 14), font(12)))?;
    Ok(())
}

/// Black for nothing, white for all of it.
fn shade(value: f64) -> RGBColor {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
    let level = (value.clamp(0.0, 1.0) * 235.0 + 20.0) as u8;
    RGBColor(level, level, level)
}

fn legend(area: &Area<'_>) -> Drawn {
    for step in 0..=10_i32 {
        let top = 60 + 32 * (10 - step);
        let value = f64::from(step) / 10.0;
        area.draw(&Rectangle::new([(4, top), (34, top + 32)], shade(value).filled()))?;
        area.draw(&Text::new(format!("{:.0}%", value * 100.0), (40, top + 8), font(12)))?;
    }
    area.draw(&PathElement::new([(4, 60), (34, 60), (34, 412), (4, 412), (4, 60)], INK.stroke_width(1)))?;
    Ok(())
}
