//! What `lull sim cluster` found, as Markdown and as pictures, beside what Linger-Longer's authors say.

use std::fmt::Write;

use lull_core::linger::GuestPolicy;
use lull_sim::cluster::Estimate;
use lull_sim::cluster::parallel::{APPLICATIONS, PROCESSES, Scheduler, Slowdown};
use lull_sim::cluster::plot::{self, Bar, Curve};
use lull_sim::figures::plot::PlotError;

use super::{Found, LOAD_OF_FIGURE_7, SWITCHES};

/// What Linger-Longer's authors say of a policy's throughput, against policies that evict (section 2).
fn paper_gain(policy: GuestPolicy) -> Option<f64> {
    match policy {
        GuestPolicy::LingerLonger => Some(1.5),
        GuestPolicy::LingerForever => Some(1.6),
        GuestPolicy::ImmediateEviction => Some(1.0),
        GuestPolicy::PauseAndMigrate | GuestPolicy::SuspendInPlace => None,
    }
}

/// `1.23 ± 0.04`, with a factor and digits.
pub(in crate::sim) fn with(estimate: &Estimate, factor: f64, digits: usize) -> String {
    let mean = estimate.mean * factor;
    if !mean.is_finite() {
        return "-".to_owned();
    }
    match estimate.half.filter(|half| half.is_finite()) {
        Some(half) => format!("{mean:.digits$} ± {:.digits$}", half * factor),
        None => format!("{mean:.digits$}"),
    }
}

fn percent(estimate: &Estimate, digits: usize) -> String {
    format!("{}%", with(estimate, 100.0, digits))
}

pub(super) fn text(found: &Found) -> String {
    let mut text = String::new();
    if !found.pool.is_empty() {
        pool(found, &mut text);
    }
    if !found.switch.is_empty() {
        switch(found, &mut text);
    }
    if !found.parallel.is_empty() {
        parallel(found, &mut text);
    }
    text
}

fn pool(found: &Found, text: &mut String) {
    let _ = writeln!(
        text,
        "{} nodes, {} runs, a move takes {}; means with their 95% intervals\n\n\
         | policy | throughput | against eviction | Linger-Longer, 1999 | owners' delay | moves per guest | evictions per guest | work lost | \
         completion | eviction takes longer by |\n|---|---|---|---|---|---|---|---|---|---|",
        found.nodes, found.runs, found.pause
    );
    for row in &found.pool {
        let paper = paper_gain(row.policy).map_or_else(|| "-".to_owned(), |gain| format!("{gain:.1}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {paper} | {} | {} | {} | {} | {} s | {} |",
            row.policy,
            percent(&row.throughput, 1),
            with(&row.gain, 1.0, 2),
            percent(&row.delay, 3),
            with(&row.moves, 1.0, 2),
            with(&row.evictions, 1.0, 2),
            percent(&row.lost, 1),
            with(&row.completion_s, 1.0, 0),
            percent(&row.faster, 0),
        );
    }
    for row in found.pool.iter().filter(|row| row.unfinished > 0) {
        let _ = writeln!(text, "\n{}: {} guests of the batches were never done.", row.policy, row.unfinished);
    }
    text.push('\n');
}

fn switch(found: &Found, text: &mut String) {
    let names = SWITCHES.map(|switch| format!("{switch}"));
    let _ = writeln!(
        text,
        "An owner's delay beside a guest that always computes\n\n| load | {} |\n|---|---|---|",
        names.join(" | ")
    );
    let loads: Vec<f64> = found.switch.iter().filter(|d| d.switch == SWITCHES[0]).map(|d| d.load).collect();
    for load in loads {
        let cells: Vec<String> =
            found.switch.iter().filter(|d| d.load == load).map(|d| percent(&d.delay, 2)).collect();
        let _ = writeln!(text, "| {:.0}% | {} |", load * 100.0, cells.join(" | "));
    }
    text.push('\n');
}

fn parallel(found: &Found, text: &mut String) {
    let _ = writeln!(
        text,
        "A guest of {PROCESSES} processes on {PROCESSES} nodes: how much longer it takes than on nodes that are not in use, and how much longer owners' bursts do\n\n\
         | application | load | busy nodes | guest, linger | guest, equal | owners, linger | owners, equal | guest on the other nodes only |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for application in &APPLICATIONS {
        let of = |scheduler| {
            found
                .parallel
                .iter()
                .filter(move |s| s.application == application.name && s.scheduler == scheduler)
        };
        for (linger, equal) in of(Scheduler::Linger).zip(of(Scheduler::Equal)) {
            let idle = PROCESSES - linger.busy;
            let fewer = if idle > 0 {
                format!("{:.0}%", application.on_fewer(idle) * 100.0)
            } else {
                "none left".to_owned()
            };
            let _ = writeln!(
                text,
                "| {} | {:.0}% | {} | {} | {} | {} | {} | {fewer} |",
                application.name,
                linger.load * 100.0,
                linger.busy,
                percent(&linger.guest, 1),
                percent(&equal.guest, 1),
                percent(&linger.owner, 2),
                percent(&equal.owner, 1),
            );
        }
    }
    text.push('\n');
}

fn scaled(estimate: &Estimate, factor: f64) -> Estimate {
    Estimate { mean: estimate.mean * factor, half: estimate.half.map(|half| half * factor) }
}

/// File names and their SVG.
pub(super) fn pictures(found: &Found) -> Result<Vec<(&'static str, String)>, PlotError> {
    let mut all = Vec::new();
    if !found.pool.is_empty() {
        let gains: Vec<Bar> = found
            .pool
            .iter()
            .map(|row| Bar { name: row.policy.to_string(), value: row.gain, paper: paper_gain(row.policy) })
            .collect();
        let title = "Guests' throughput against immediate eviction (rings: Linger-Longer, 1999)";
        all.push(("throughput.svg", plot::bars(title, "immediate eviction = 1", &gains)?));
        let stays: Vec<Bar> = found
            .pool
            .iter()
            .filter(|row| row.completion_s.mean.is_finite())
            .map(|row| Bar {
                name: row.policy.to_string(),
                value: scaled(&row.completion_s, 1.0 / 60.0),
                paper: None,
            })
            .collect();
        if !stays.is_empty() {
            all.push((
                "completion.svg",
                plot::bars("How long guests of a batch are in the pool", "minutes", &stays)?,
            ));
        }
    }
    if !found.switch.is_empty() {
        let curves: Vec<Curve> = SWITCHES
            .iter()
            .enumerate()
            .map(|(color, switch)| Curve {
                color,
                name: format!("effective context switch {switch}"),
                points: found
                    .switch
                    .iter()
                    .filter(|d| d.switch == *switch)
                    .map(|d| (d.load * 100.0, scaled(&d.delay, 100.0)))
                    .collect(),
                thin: false,
            })
            .collect();
        let axes = ("owner's load, percent", "owner's delay, percent");
        all.push(("switch.svg", plot::curves("What switching costs an owner", axes, &curves)?));
    }
    if !found.parallel.is_empty() {
        let load = |s: &Slowdown| s.load * 100.0;
        let busy = |s: &Slowdown| s.busy as f64;
        let one = |s: &&Slowdown| s.busy == 1;
        let at_13 = |s: &&Slowdown| s.load == LOAD_OF_FIGURE_7;
        let guest = |s: &Slowdown| scaled(&s.guest, 100.0);
        let owner = |s: &Slowdown| scaled(&s.owner, 100.0);
        let by_load = "load of the one busy node's owner, percent";
        let by_nodes = "busy nodes of four, owners' load 13%";
        let (slower, harmed) = ("guest slower by, percent", "owners slower by, percent");
        let draw = |title: &str,
                    axes,
                    x: &dyn Fn(&Slowdown) -> f64,
                    y: &dyn Fn(&Slowdown) -> Estimate,
                    keep: &dyn Fn(&&Slowdown) -> bool| {
            let mut curves = Vec::new();
            for scheduler in [Scheduler::Linger, Scheduler::Equal] {
                for (color, application) in APPLICATIONS.iter().enumerate() {
                    let mine = |s: &&Slowdown| {
                        s.application == application.name && s.scheduler == scheduler && keep(s)
                    };
                    let points = found.parallel.iter().filter(mine).map(|s| (x(s), y(s))).collect();
                    let how = if scheduler == Scheduler::Linger { "linger" } else { "equal" };
                    curves.push(Curve {
                        name: format!("{}, {how}", application.name),
                        points,
                        color,
                        thin: scheduler == Scheduler::Equal,
                    });
                }
            }
            plot::curves(title, axes, &curves)
        };
        all.push((
            "fig6a.svg",
            draw("Figure 6a: parallel guests, one busy node", (by_load, slower), &load, &guest, &one)?,
        ));
        all.push((
            "fig6b.svg",
            draw("Figure 6b: owners beside parallel guests", (by_load, harmed), &load, &owner, &one)?,
        ));
        all.push((
            "fig7a.svg",
            draw(
                "Figure 7a: parallel guests, several busy nodes",
                (by_nodes, slower),
                &busy,
                &guest,
                &at_13,
            )?,
        ));
        all.push((
            "fig7b.svg",
            draw("Figure 7b: owners on several busy nodes", (by_nodes, harmed), &busy, &owner, &at_13)?,
        ));
    }
    Ok(all)
}
