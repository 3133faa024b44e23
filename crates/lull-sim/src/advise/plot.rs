//! The frontier: what background gets for what the foreground loses.

use plotters::prelude::*;

use super::{Advice, Candidate};
use crate::figures::plot::{CURVES, FAINT, INK, PlotError, font, picture};

/// Background over loss, as SVG: one colour per bound and variant, the budget as a line, the recommendation as a ring.
pub fn plot(advice: &Advice) -> Result<String, PlotError> {
    let percent = |candidate: &Candidate| (candidate.loss * 100.0, candidate.background * 100.0);
    let budget = advice.budget.fraction() * 100.0;
    let right = advice.candidates.iter().map(|c| percent(c).0).fold(budget * 1.5, f64::max).max(1.0) * 1.05;
    let mut kinds: Vec<(u32, lull_core::Variant)> =
        advice.candidates.iter().map(|candidate| (candidate.depth, candidate.variant)).collect();
    kinds.dedup();
    picture((820, 520), |area| {
        let title = format!("{}: background work against foreground loss", advice.device);
        let area = area.titled(&title, font(18))?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..right, 0.0..105.0)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .x_desc("foreground throughput lost, percent")
            .y_desc("background / alone, percent")
            .label_style(font(13))
            .draw()?;
        chart.draw_series([PathElement::new([(budget, 0.0), (budget, 105.0)], INK.stroke_width(1))])?;
        let note = format!("budget {}", advice.budget);
        chart.draw_series([EmptyElement::at((budget, 103.0)) + Text::new(note, (4, 0), font(12))])?;
        // The default comes last, on top of others that are equal to it.
        for (index, (depth, variant)) in kinds.iter().enumerate().rev() {
            let color = CURVES[index % CURVES.len()];
            let of = || advice.candidates.iter().filter(|c| (c.depth, c.variant) == (*depth, *variant));
            chart
                .draw_series(LineSeries::new(of().map(percent), color.stroke_width(1)).point_size(3))?
                .label(format!("depth {depth}, {variant}"))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        }
        if let Some(candidate) = &advice.recommended {
            let at = percent(candidate);
            let words = format!("interval {}", candidate.interval);
            chart.draw_series([Circle::new(at, 8, INK.stroke_width(2))])?;
            chart.draw_series([EmptyElement::at(at) + Text::new(words, (12, 4), font(14))])?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font(font(12))
            .draw()?;
        Ok(())
    })
}
