//! The paper's figures, measured: points (CSV), density plots (SVG), and a page with the specification's
//! sentences.
//!
//! Written for every figure that the records have ([`Measured`]); nothing where they have none.

use std::path::{Path, PathBuf};

use super::markup::markdown_table;
use super::table;
use crate::Error;
use crate::error::Context;
use crate::stats::Summary;
use crate::study::Study;
use crate::study::figures::{Compared, Held, Measured};

/// Name of the page.
pub const PAGE: &str = "figures.md";

/// Writes all files; the page's text and the pictures' paths, or none if there is no figure.
pub(super) fn write(directory: &Path, study: &Study) -> Result<Option<(String, Vec<PathBuf>)>, Error> {
    let figures = Measured::all(study);
    if figures.is_empty() {
        return Ok(None);
    }
    let mut page = head(study);
    let mut pictures = Vec::new();
    for measured in &figures {
        let place = |ending| directory.join(format!("{}.{ending}", measured.figure.name()));
        let picture = place("svg");
        let svg = measured
            .picture()
            .map_err(|error| Error::Picture { path: picture.clone(), problem: error.to_string() })?;
        for (path, text) in [(&picture, svg), (&place("csv"), measured.csv())] {
            std::fs::write(path, text).at("write", path)?;
        }
        pictures.push(picture);
        page += &section(measured);
    }
    let path = directory.join(PAGE);
    std::fs::write(&path, &page).at("write", &path)?;
    Ok(Some((page, pictures)))
}

fn head(study: &Study) -> String {
    format!(
        "# The paper's figures, measured

{}
Foreground over `alone`, and background over `solo`, of the same round; medians. *Simulated* is what the simulator of the paper's hosts
gives at the same intensities and intervals. The same rules judge both, at fixed intervals only: a sentence about a region without points
is not judged. Pictures: the lighter, the more throughput; the dashed line is the paper's service time.
",
        table::hosts(study)
    )
}

fn section(measured: &Measured) -> String {
    let name = measured.figure.name();
    let compared = measured.compared().into_iter().map(|Compared { simulated, here }| {
        let findings = [simulated.verdict(), here.verdict()].map(ToString::to_string);
        let [simulated_holds, here_holds] = findings;
        vec![
            here.sentence.to_string(),
            simulated.found.clone(),
            simulated_holds,
            here.found.clone(),
            here_holds,
        ]
    });
    let by_intensity = measured.percents().into_iter().map(|percent| {
        let cells = [Held::Not, Held::Found].map(|held| {
            let point = measured.at(percent, held);
            [point.map(|point| point.foreground), point.and_then(|point| point.left_used)].map(share)
        });
        [vec![format!("{percent}%")], cells.concat()].concat()
    });
    format!(
        "\n## {0}\n\n![{0}]({name}.svg)\n\nPoints: [{name}.csv]({name}.csv)\n\n{1}\n{2}",
        measured.title,
        markdown_table(&["paper", "simulated", "holds", "here", "holds"], compared),
        markdown_table(
            &["intensity", "none: foreground", "of what is left", "auto: foreground", "of what is left"],
            by_intensity
        )
    )
}

fn share(summary: Option<Summary>) -> String {
    summary.map_or_else(|| "–".to_owned(), |s| format!("{:.2} [{:.2}-{:.2}]", s.median, s.min, s.max))
}
