//! Pictures of pools: bars per policy, and curves.

use plotters::prelude::*;

use super::Estimate;
use crate::figures::plot::{CURVES, FAINT, INK, PlotError, font, picture};

/// A bar with its interval, and what its authors found.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What stands below it.
    pub name: String,
    /// Its height.
    pub value: Estimate,
    /// Of the paper that it stands beside, where that gives one.
    pub paper: Option<f64>,
}

/// Bars with 95% intervals; a paper's values are rings.
pub fn bars(title: &str, unit: &str, bars: &[Bar]) -> Result<String, PlotError> {
    let top =
        bars.iter().map(|bar| bar.value.high().max(bar.paper.unwrap_or(0.0))).fold(0.0, f64::max) * 1.12;
    let count = bars.len();
    picture((820, 420), |area| {
        let area = area.titled(title, font(18))?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..count as f64, 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .x_labels(0)
            .y_desc(unit)
            .label_style(font(13))
            .draw()?;
        for (index, bar) in bars.iter().enumerate() {
            let at = index as f64;
            let (left, middle, right) = (at + 0.2, at + 0.5, at + 0.8);
            let color = CURVES[index % CURVES.len()];
            chart.draw_series([Rectangle::new([(left, 0.0), (right, bar.value.mean)], color.filled())])?;
            chart.draw_series([PathElement::new(
                [(middle, bar.value.low()), (middle, bar.value.high())],
                INK.stroke_width(2),
            )])?;
            if let Some(paper) = bar.paper {
                chart.draw_series([Circle::new((middle, paper), 6, INK.stroke_width(2))])?;
            }
            let name = Text::new(bar.name.clone(), (-52, 8), font(12));
            chart.draw_series([EmptyElement::at((middle, 0.0)) + name])?;
        }
        Ok(())
    })
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// x, and y with its interval.
    pub points: Vec<(f64, Estimate)>,
    /// Which colour.
    pub color: usize,
    /// Drawn thin, without points: a comparison.
    pub thin: bool,
}

/// Curves with their 95% intervals.
pub fn curves(title: &str, axes: (&str, &str), curves: &[Curve]) -> Result<String, PlotError> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let right = all().map(|(x, _)| *x).fold(0.0, f64::max) * 1.02;
    let top = all().map(|(_, y)| y.high()).fold(0.0, f64::max) * 1.1;
    picture((820, 460), |area| {
        let area = area.titled(title, font(18))?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .x_desc(axes.0)
            .y_desc(axes.1)
            .label_style(font(13))
            .draw()?;
        for curve in curves {
            let color = CURVES[curve.color % CURVES.len()];
            let width = if curve.thin { 1 } else { 2 };
            let size = if curve.thin { 0 } else { 3 };
            let means = curve.points.iter().map(|(x, y)| (*x, y.mean));
            chart
                .draw_series(LineSeries::new(means, color.stroke_width(width)).point_size(size))?
                .label(curve.name.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(width)));
            chart.draw_series(
                curve
                    .points
                    .iter()
                    .filter(|(_, y)| y.half.is_some())
                    .map(|(x, y)| PathElement::new([(*x, y.low()), (*x, y.high())], color.stroke_width(1))),
            )?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(font(12))
            .background_style(WHITE.mix(0.8))
            .draw()?;
        Ok(())
    })
}
