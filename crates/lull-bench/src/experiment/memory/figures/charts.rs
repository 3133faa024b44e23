//! The pictures of the Linger paper's figures: bars for the tables, curves over time and over factors.

use std::path::Path;

use plotters::prelude::*;

use super::page::{Middle, Page, Point, Row, Series};
use crate::Error;
use crate::report::picture::{Area, Bar, Drawn, FAINT, INK, Panel, bars, color, draw, font, stands};
use crate::stats::Summary;
use crate::units::Bytes;

const HOST: RGBColor = RGBColor(84, 112, 208);
const GUEST: RGBColor = RGBColor(31, 157, 99);
/// What the paper says of figure 5.
const PAPER: [(f64, f64); 2] = [(1.0, 3.5), (50.0, 1.2)];
/// Room above the highest value.
const ABOVE: f64 = 1.1;

/// The host's own time in each row, host first on the left, guest first on the right.
pub(super) fn tables(path: &Path, page: &Page) -> Result<(), Error> {
    let panel = |title: &str, rows: &[(Row, &str)]| {
        let of = |(row, name): &(Row, &str)| Some(bar(name, &page.of_row(*row, |timed| timed.host_took_s)?));
        Panel { title: title.to_owned(), bars: rows.iter().filter_map(of).collect() }
    };
    let both = [(Row::Serial, "alone"), (Row::Together, "none")];
    let panels = [
        panel(
            "host first (shorter is better)",
            &[&both[..], &[(Row::HostFirstNice, "nice"), (Row::HostFirstLull, "lull")]].concat(),
        ),
        panel(
            "guest first (shorter is better)",
            &[&both[..], &[(Row::GuestFirstNice, "nice"), (Row::GuestFirstLull, "lull")]].concat(),
        ),
    ];
    bars(path, "Tables 2 and 3: host time / alone; none: both at the same time", &panels)
}

fn bar(name: &str, middle: &Middle) -> Bar {
    let [min, max] = middle.range;
    let value = Summary { count: 1, median: middle.value, min, max, mad: 0.0 };
    let more = if middle.is_bound { "> " } else { "" };
    Bar { contender: name.to_owned(), value, label: format!("{more}{:.2}×", middle.value) }
}

/// Host and guest over time, a panel for each control.
pub(super) fn over_time(path: &Path, page: &Page) -> Result<(), Error> {
    let count = page.over_time.len().max(1);
    let width = 560 * u32::try_from(count).unwrap_or(1);
    draw(path, (width, 420), |area| {
        let area = area.titled("Figure 4: memory of host and guest, MiB over seconds", font(18))?;
        let places = area.split_evenly((1, count));
        places.iter().zip(&page.over_time).try_for_each(|(place, series)| paint_series(place, series))
    })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / Bytes::MIB as f64
}

fn paint_series(area: &Area<'_>, series: &Series) -> Drawn {
    let held = series.samples.iter();
    let most = held.flat_map(|sample| [sample.host.resident_bytes, sample.guest.resident_bytes]).max();
    let limits = series.thresholds.unwrap_or_default();
    let length = series.samples.last().map_or(series.span_s, |sample| sample.at_s.max(series.span_s));
    let top = most.into_iter().chain(limits).map(mib).fold(1.0, f64::max) * ABOVE;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(format!("guest under {}", series.control), font(14))
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..length, 0.0..top)?;
    let whole = |value: &f64| format!("{value:.0}");
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .label_style(font(13))
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()?;
    for limit in limits.into_iter().filter(|limit| *limit > 0).map(mib) {
        let line = [(0.0, limit), (length, limit)];
        chart.draw_series(DashedLineSeries::new(line, 5, 4, INK.stroke_width(1)))?;
    }
    for (name, line_color, of) in [("host", HOST, 0), ("guest", GUEST, 1)] {
        let points = series.samples.iter().map(|sample| {
            let held = if of == 0 { sample.host } else { sample.guest };
            (sample.at_s, mib(held.resident_bytes))
        });
        chart
            .draw_series(LineSeries::new(points, line_color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line_color.stroke_width(2)));
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).label_font(font(12)).draw()?;
    Ok(())
}

/// The host's time over the factors, with what the paper says, and lines for nice and for lull as it is.
pub(super) fn batches(path: &Path, page: &Page) -> Result<(), Error> {
    let points: Vec<(f64, Middle)> = page
        .factors()
        .into_iter()
        .filter_map(|factor| Some((factor as f64, page.of_point(Point::Factor(factor))?)))
        .collect();
    let lines = [("nice", Point::Nice), ("lull", Point::Default)];
    let lines: Vec<(&str, Middle)> =
        lines.into_iter().filter_map(|(name, point)| Some((name, page.of_point(point)?))).collect();
    draw(path, (760, 440), |area| {
        let area =
            area.titled("Figure 5: host time / alone over the factor of the kernel's batch", font(18))?;
        paint_batches(&area, &points, &lines)
    })
}

fn paint_batches(area: &Area<'_>, points: &[(f64, Middle)], lines: &[(&str, Middle)]) -> Drawn {
    let highest = points.iter().map(|(_, middle)| middle.range[1]);
    let top = highest.chain(lines.iter().map(|(_, line)| line.value)).chain(PAPER.map(|(_, value)| value));
    let top = top.fold(1.0, f64::max) * ABOVE;
    let farthest = points.iter().map(|(factor, _)| *factor).chain(PAPER.map(|(factor, _)| factor));
    let right = farthest.fold(1.0, f64::max) * 1.3;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(50)
        .build_cartesian_2d((0.8..right).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .x_desc("factor")
        .x_label_formatter(&|factor| if stands(*factor) { format!("{factor:.0}") } else { String::new() })
        .label_style(font(13))
        .draw()?;
    let ours = color("lull");
    let legend = |line: ShapeStyle| move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line);
    for (factor, middle) in points {
        let [min, max] = middle.range;
        chart.draw_series([PathElement::new([(*factor, min), (*factor, max)], ours.mix(0.6))])?;
    }
    let medians = points.iter().map(|(factor, middle)| (*factor, middle.value));
    chart
        .draw_series(LineSeries::new(medians, ours.stroke_width(2)).point_size(3))?
        .label("lull with this batch")
        .legend(legend(ours.stroke_width(2)));
    chart
        .draw_series(PAPER.map(|point| TriangleMarker::new(point, 6, INK.filled())))?
        .label("the paper's kernel")
        .legend(|(x, y)| TriangleMarker::new((x + 8, y), 5, INK.filled()));
    for (name, middle) in lines {
        let line = [(0.8, middle.value), (right, middle.value)];
        let style = color(name).stroke_width(1);
        let more = if middle.is_bound { "more than " } else { "" };
        chart
            .draw_series(DashedLineSeries::new(line, 5, 4, style))?
            .label(format!("{name}: {more}{:.2}", middle.value))
            .legend(legend(style));
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperRight).label_font(font(12)).draw()?;
    Ok(())
}
