//! What `lull sim reserve` found, as Markdown and as pictures, beside what Eclipse/BSD's authors say.

use std::fmt::Write;

use lull_core::Share;
use lull_sim::cluster::Estimate;
use lull_sim::cluster::plot::{self, Curve};
use lull_sim::figures::plot::PlotError;

use crate::sim::cluster::report::with;

use super::{Found, Point, Reception, Resource};

fn percent(estimate: &Estimate) -> String {
    format!("{}%", with(estimate, 100.0, 1))
}

const RESOURCES: [(Resource, &str, &str); 4] = [
    (Resource::Cpu, "CPU (figures 4, 5)", "cpu"),
    (Resource::Disk, "disk (figure 6)", "disk"),
    (Resource::Link10, "link of 10 Mb/s (figure 7)", "link-10"),
    (Resource::Link100, "link of 100 Mb/s", "link-100"),
];

fn name(share: Option<Share>) -> String {
    share.map_or_else(|| "plain".to_owned(), |share| format!("{share} reserved"))
}

impl Found {
    fn of(&self, resource: Resource, share: Option<Share>) -> Vec<&Point> {
        self.points.iter().filter(|point| point.resource == resource && point.share == share).collect()
    }

    fn shares(&self, resource: Resource) -> Vec<Option<Share>> {
        let mut shares: Vec<_> =
            self.points.iter().filter(|point| point.resource == resource).map(|point| point.share).collect();
        shares.dedup();
        shares
    }

    fn received(&self, apps: u32, percents: &[u32]) -> Vec<&Reception> {
        let shares: Vec<Share> = percents.iter().map(|percent| Share::percent(*percent)).collect();
        self.input.iter().filter(|one| one.apps == apps && one.shares == shares).collect()
    }
}

pub(super) fn text(found: &Found) -> String {
    let mut text = String::new();
    verdicts(found, &mut text);
    for (resource, title, _) in RESOURCES {
        if !found.shares(resource).is_empty() {
            let _ = writeln!(text, "\n## {}\n", title[..1].to_uppercase() + &title[1..]);
            loads(found, resource, &mut text);
        }
    }
    if !found.input.is_empty() {
        input(found, &mut text);
    }
    text
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// The numbers that were wanted, beside the paper's.
fn verdicts(found: &Found, text: &mut String) {
    let _ = writeln!(text, "| wanted | Eclipse/BSD, 1999 | here | |\n|---|---|---|---|");
    let mut row = |wanted: String, paper: &str, here: String, is_met: bool| {
        let _ = writeln!(text, "| {wanted} | {paper} | {here} | {} |", verdict(is_met));
    };
    for (resource, title, _) in RESOURCES {
        for share in found.shares(resource).into_iter().flatten() {
            let points = found.of(resource, Some(share));
            let (Some(alone), loaded) = (points.first(), &points[1..]) else { continue };
            let (margin, free) = if resource == Resource::Cpu { (0.96, 0.97) } else { (0.9, 0.95) };
            let of_share = if share < Share::percent(90) { share.fraction() * margin } else { 0.95 };
            let least = loaded.iter().map(|point| point.throughput.mean).fold(f64::INFINITY, f64::min);
            if least.is_finite() {
                let paper =
                    if share < Share::percent(90) { "about the share" } else { "essentially unaffected" };
                row(
                    format!("{title}, {share}: ≥ {:.0}% of solo at any load", of_share * 100.0),
                    paper,
                    format!("{:.1}% at the least", least * 100.0),
                    least >= of_share,
                );
            }
            row(
                format!("{title}, {share}: ≥ {:.0}% of solo without load", free * 100.0),
                "essentially all",
                percent(&alone.throughput),
                alone.throughput.mean >= free,
            );
            let times = || loaded.iter().map(|point| point.response_s.mean);
            let (fast, slow) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
            if resource == Resource::Cpu && loaded.len() > 1 {
                row(
                    format!("{title}, {share}: response time within 10% beyond the first step"),
                    "constant",
                    format!("{:.1}% from least to most", (slow / fast - 1.0) * 100.0),
                    slow / fast <= 1.1,
                );
            }
        }
    }
    let most = |points: &[&Reception]| points.iter().map(|one| one.first.mean).fold(0.0, f64::max);
    let last = |points: &[&Reception]| points.last().map_or(f64::NAN, |one| one.first.mean);
    if !found.input.is_empty() {
        let (srp, plain) = (found.received(1, &[100]), found.received(1, &[]));
        row(
            "input (figure 8): SRP's plateau is held at every higher rate".to_owned(),
            "5,700/s",
            format!("{:.0}/s at the most, {:.0}/s at the highest rate", most(&srp), last(&srp)),
            last(&srp) >= 0.9 * most(&srp),
        );
        row(
            "input (figure 8): the plain stack falls".to_owned(),
            "drops precipitously",
            format!("{:.0}/s at the most, {:.0}/s at the highest rate", most(&plain), last(&plain)),
            last(&plain) < 0.1 * most(&plain),
        );
        let favoured = found.received(4, &[97, 1, 1, 1]);
        row(
            "input (figure 9): with 97/1/1/1 the first keeps ≥ 80% of its plateau".to_owned(),
            "4,800/s of 5,900/s (81%)",
            format!(
                "{:.0}/s of {:.0}/s ({:.0}%)",
                last(&favoured),
                most(&favoured),
                last(&favoured) / most(&favoured) * 100.0
            ),
            last(&favoured) >= 0.8 * most(&favoured),
        );
    }
}

fn loads(found: &Found, resource: Resource, text: &mut String) {
    let shares = found.shares(resource);
    let _ = write!(text, "Throughput of the site of interest, of what it has alone on the plain system");
    let _ = match resource {
        Resource::Disk => writeln!(text, "; batches of {}.\n", found.batch),
        Resource::Cpu => writeln!(text, "; in brackets the mean response time.\n"),
        _ => writeln!(text, ".\n"),
    };
    let _ = write!(text, "| competing clients |");
    shares.iter().for_each(|share| {
        let _ = write!(text, " {} |", name(*share));
    });
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(shares.len()));
    let loads: Vec<u32> = shares
        .first()
        .map(|share| found.of(resource, *share).iter().map(|point| point.load).collect())
        .unwrap_or_default();
    for (row, load) in loads.iter().enumerate() {
        let _ = write!(text, "| {load} |");
        for share in &shares {
            let Some(point) = found.of(resource, *share).get(row).copied() else { continue };
            let _ = write!(text, " {}", percent(&point.throughput));
            if resource == Resource::Cpu {
                let _ = write!(text, " ({:.2} s)", point.response_s.mean);
            }
            let _ = write!(text, " |");
        }
        let _ = writeln!(text);
    }
}

fn input(found: &Found, text: &mut String) {
    let _ = writeln!(
        text,
        "\n## Input (figures 8, 9)\n\nPackets per second that are received; one application, then four, each of which is sent as many.\n\n\
         | sent to each | SRP | plain | four, 25% each | four, plain | the one with 97% | each of those with 1% |\n|---|---|---|---|---|---|---|"
    );
    let columns = [(1, &[100][..]), (1, &[]), (4, &[25, 25, 25, 25]), (4, &[]), (4, &[97, 1, 1, 1])];
    let columns = columns.map(|(apps, shares)| found.received(apps, shares));
    for (at, one) in columns[0].iter().enumerate() {
        let _ = write!(text, "| {:.0} |", one.rate);
        for (column, receptions) in columns.iter().enumerate() {
            let Some(one) = receptions.get(at) else { continue };
            let _ = write!(text, " {} |", with(&one.first, 1.0, 0));
            if column == columns.len() - 1 {
                let _ = write!(text, " {} |", with(&one.others, 1.0, 0));
            }
        }
        let _ = writeln!(text);
    }
}

/// Names and contents.
pub(super) fn pictures(found: &Found) -> Result<Vec<(String, String)>, PlotError> {
    let mut all = Vec::new();
    let in_percent = |estimate: &Estimate| Estimate {
        mean: estimate.mean * 100.0,
        half: estimate.half.map(|half| half * 100.0),
    };
    for (resource, title, file) in RESOURCES {
        let shares = found.shares(resource);
        let curves = |y: &dyn Fn(&Point) -> Estimate| -> Vec<Curve> {
            let curve = |(color, share): (usize, &Option<Share>)| Curve {
                name: name(*share),
                points: found
                    .of(resource, *share)
                    .iter()
                    .map(|point| (f64::from(point.load), y(point)))
                    .collect(),
                color,
                thin: share.is_none(),
            };
            shares.iter().enumerate().map(curve).collect()
        };
        if shares.is_empty() {
            continue;
        }
        let axes = ("competing clients", "throughput, % of solo");
        let draw = plot::curves(title, axes, &curves(&|point| in_percent(&point.throughput)))?;
        all.push((format!("{file}.svg"), draw));
        if resource == Resource::Cpu {
            let axes = ("competing clients", "response time, s");
            let draw = plot::curves("CPU (figure 5)", axes, &curves(&|point| point.response_s))?;
            all.push((format!("{file}-response.svg"), draw));
        }
    }
    if !found.input.is_empty() {
        let curve = |name: &str, color, points: Vec<&Reception>, y: fn(&Reception) -> Estimate| Curve {
            name: name.to_owned(),
            points: points.into_iter().map(|one| (one.rate, y(one))).collect(),
            color,
            thin: false,
        };
        let first: fn(&Reception) -> Estimate = |one| one.first;
        let axes = ("packets per second sent to each", "packets per second received");
        let eight = [
            curve("SRP", 0, found.received(1, &[100]), first),
            curve("plain", 1, found.received(1, &[]), first),
        ];
        all.push(("input.svg".to_owned(), plot::curves("Receive overload (figure 8)", axes, &eight)?));
        let nine = [
            curve("25% each", 0, found.received(4, &[25, 25, 25, 25]), first),
            curve("97%", 1, found.received(4, &[97, 1, 1, 1]), first),
            curve("1%", 2, found.received(4, &[97, 1, 1, 1]), |one| one.others),
            curve("plain", 3, found.received(4, &[]), first),
        ];
        all.push(("input-shares.svg".to_owned(), plot::curves("Four receivers (figure 9)", axes, &nine)?));
    }
    Ok(all)
}
