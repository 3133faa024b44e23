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

/// A density plot: a tile for each intensity and interval, in a panel per class.
#[derive(Clone, Debug)]
pub struct Density {
    /// What is written above.
    pub title: String,
    /// Names of the intensities from left to right, in percent.
    pub intensities: Vec<String>,
    /// Names of the intervals from the bottom up, in milliseconds.
    pub intervals: Vec<String>,
    /// How many of them are below the dashed line.
    pub below: usize,
    /// The panels from left to right.
    pub panels: [Panel; 2],
}

/// One class of a density plot.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What the tiles show.
    pub title: String,
    /// The tiles.
    pub tiles: Vec<Tile>,
}

/// One point. Where there is none, the picture has a cross.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// Which intensity, from 0.
    pub column: usize,
    /// Which interval, from 0.
    pub row: usize,
    /// From 0, black, to 1, white.
    pub value: f64,
}

/// Both classes side by side.
pub fn density(grid: &Grid) -> Result<String, PlotError> {
    let mut xs: Vec<f64> = grid.cells.iter().map(percent).collect();
    let mut ys: Vec<f64> = grid.cells.iter().map(ms).collect();
    for axis in [&mut xs, &mut ys] {
        axis.sort_by(f64::total_cmp);
        axis.dedup();
    }
    let place = |axis: &[f64], at: f64| axis.iter().position(|value| *value == at).unwrap_or(0);
    let panel = |title: &str, value: fn(&Cell) -> f64| {
        let tile =
            |cell| Tile { column: place(&xs, percent(cell)), row: place(&ys, ms(cell)), value: value(cell) };
        Panel { title: title.to_owned(), tiles: grid.cells.iter().map(tile).collect() }
    };
    let service = grid.figure.service().0 as f64 / 1e6;
    let names = |axis: &[f64]| axis.iter().map(f64::to_string).collect();
    draw(&Density {
        title: grid.figure.title().to_owned(),
        intensities: names(&xs),
        intervals: names(&ys),
        below: ys.iter().filter(|interval| **interval < service).count(),
        panels: [
            panel("foreground / alone", |cell| cell.foreground),
            panel("background / alone", |cell| cell.background),
        ],
    })
}

fn percent(cell: &Cell) -> f64 {
    cell.intensity.fraction() * 100.0
}

fn ms(cell: &Cell) -> f64 {
    cell.interval.0 as f64 / 1e6
}

/// As SVG text.
pub fn draw(density: &Density) -> Result<String, PlotError> {
    picture((1_060, 480), |area| {
        let area = area.titled(&density.title, font(18))?;
        let (panels, scale) = area.split_horizontally(960);
        for (half, panel) in panels.split_evenly((1, 2)).iter().zip(&density.panels) {
            paint(half, density, panel)?;
        }
        legend(&scale)
    })
}

fn paint(area: &Area<'_>, density: &Density, panel: &Panel) -> Drawn {
    let (columns, rows) = (density.intensities.len(), density.intervals.len());
    // Intervals are spaced as they come: the short ones matter as much as the long ones.
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(&panel.title, font(14))
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..columns as f64, 0.0..rows as f64)?;
    let is_there = |column, row| panel.tiles.iter().any(|tile| (tile.column, tile.row) == (column, row));
    for tile in &panel.tiles {
        let (x, y) = (tile.column as f64, tile.row as f64);
        let shade = shade(tile.value);
        chart.draw_series([Rectangle::new([(x, y), (x + 1.0, y + 1.0)], shade.filled())])?;
    }
    for (column, row) in (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row))) {
        if !is_there(column, row) {
            let (x, y) = (column as f64, row as f64);
            chart.draw_series([
                PathElement::new([(x, y), (x + 1.0, y + 1.0)], FAINT.stroke_width(1)),
                PathElement::new([(x, y + 1.0), (x + 1.0, y)], FAINT.stroke_width(1)),
            ])?;
        }
    }
    let line = density.below as f64;
    chart.draw_series(DashedLineSeries::new(
        [(0.0, line), (columns as f64, line)],
        5,
        4,
        RGBColor(200, 60, 50).stroke_width(1),
    ))?;
    let plot = chart.plotting_area();
    let (left, top) = area.get_base_pixel();
    for (index, name) in density.intensities.iter().enumerate() {
        let (x_px, y_px) = plot.map_coordinate(&(index as f64 + 0.5, 0.0));
        let style = font(11).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(name.clone(), (x_px - left, y_px - top + 4), style))?;
    }
    for (index, name) in density.intervals.iter().enumerate() {
        let (x_px, y_px) = plot.map_coordinate(&(0.0, index as f64 + 0.5));
        let style = font(11).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(name.clone(), (x_px - left - 5, y_px - top), style))?;
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
