//! What the figures show, as Markdown: printed by each command, and put together into docs/results/figures.md.

use std::fmt::Write;

use lull_core::Nanos;
use lull_sim::compare::{BUDGET, Comparison, Convergence, Score};
use lull_sim::figures::claims::Claim;
use lull_sim::figures::variants::{Point, largest_error};
use lull_sim::figures::{Effort, Figure};

/// The beginning of the page.
pub(super) fn head(seed: u64, effort: &Effort) -> String {
    format!(
        "# The paper's figures, simulated

Made by `make figures` (`lull sim all --seed {seed}`): {} runs of {} per point (figures 7, 9, 11: of a third of that){}. Nothing here was measured on a machine, and
nothing was written by hand but the explanations. Foreground and background are relative to the same load alone.
The figures are density plots as in the paper: the lighter, the more throughput. The dashed line is the service time.
The paper's intervals begin with the start of a request (section 3.3), and so do those of figures 7 to 12.

A sentence *holds* if the simulated values are within it or within ten points of it: where it names a range, all points of the
region, for the TCP figures at least two thirds of them. The paper's text reads its values from shades of grey. The mean
and the extremes are of the points of the region, each the mean of the runs. What is modelled, and with which numbers, stands in the documentation of the crate `lull-sim`
(`figures`, `net`, `device`, `workload`).
",
        effort.runs,
        effort.length,
        if effort.coarse { ", on a coarse grid" } else { "" },
    )
}

/// One figure: picture, sentences, reasons. `dir` is where the picture is, from the page; `None` on a terminal.
pub(super) fn claims(figure: Figure, claims: &[Claim], dir: Option<&str>) -> String {
    let mut text = format!("\n## {}\n\n", figure.title());
    if let Some(dir) = dir {
        let name = figure.name();
        let _ = writeln!(
            text,
            "![{}]({dir}/{name}.svg)\n\nPoints: [{name}.csv]({dir}/{name}.csv)\n",
            figure.title()
        );
    }
    text += "| sentence | simulated | holds |\n|---|---|---|\n";
    for claim in claims {
        let holds = if claim.holds == Some(false) { "**no**" } else { claim.verdict() };
        let _ = writeln!(text, "| {} | {} | {holds} |", claim.sentence, claim.found);
    }
    let reasons: Vec<&Claim> = claims.iter().filter(|claim| claim.holds == Some(false)).collect();
    if !reasons.is_empty() {
        text += "\n";
    }
    for claim in reasons {
        let why = if claim.why.is_empty() { "not explained." } else { claim.why };
        let _ = writeln!(text, "- \"{}\": {why}", claim.sentence);
    }
    text
}

/// The four variants at some intervals.
pub(super) fn variants(points: &[Point]) -> String {
    let mut text = String::from(
        "
## The four variants, simulated and computed

A closed foreground (think time exponential, mean 60 ms; service 20 ms) beside a greedy background, and beside one client
that thinks for 5 ms; background requests take 20 ms. Each cell: foreground relative to alone / share of the time for
background, simulated, and in brackets as computed ([theory](../theory.md)).

| interval | background | bb-bi | bb-bp | bp-bi | bp-bp |
|---|---|---|---|---|---|
",
    );
    for greedy in [true, false] {
        for interval in [0, 20, 40, 80, 120].map(Nanos::from_millis) {
            let cells: Vec<String> = points
                .iter()
                .filter(|point| point.greedy == greedy && point.interval == interval)
                .map(|p| {
                    format!(
                        "{:.3} / {:.3} ({:.3} / {:.3})",
                        p.foreground, p.background, p.foreground_theory, p.background_theory
                    )
                })
                .collect();
            if !cells.is_empty() {
                let kind = if greedy { "greedy" } else { "thinks 5 ms" };
                let _ = writeln!(text, "| {interval} | {kind} | {} |", cells.join(" | "));
            }
        }
    }
    let _ = writeln!(
        text,
        "\nLargest difference between theory and simulation over all {} points: {:.1}% (the paper's model: within 15%).",
        points.len(),
        largest_error(points) * 100.0
    );
    text
}

fn score(score: &Score) -> String {
    let excess = score.loss - BUDGET.fraction();
    let mark = if excess > 0.005 { " (over)" } else { "" };
    format!("{:.1}%{mark} / {:.1}%", score.loss * 100.0, score.work * 100.0)
}

/// The automatic interval against others.
pub(super) fn automatic(comparisons: &[Comparison], convergences: &[Convergence]) -> String {
    let mut text = format!(
        "
## Who finds the interval

A disk that takes 16 to 24 ms for everything, a greedy background, a budget of {BUDGET} of the foreground's throughput. Each cell: foreground
lost / share of the foreground's idle time that background got. *Best fixed* is the interval with most background
work within the budget, out of twenty, chosen with hindsight for each foreground. *Control* is what `lull run` uses (what
was lost, an interval, credits and an audit). *AIMD* is the paper's idea of a window on the counters (section 5.2). *Bucket* starts
background at once and bounds the delay by a leaky bucket (section 5.1). *Smart* and *manners* hold all background in the
foreground's busy windows of 1 s, or when its own progress falls; they see no requests and know no budget. Foregrounds that do not wait for their requests, and
the spiteful one, which comes whenever background has started, lose the share of the time for which they waited; bursts, the
share of their own time.
The bucket counts all time, so bursts that fill half of it may lose twice the budget. *Regret* is the work of the best fixed interval less that of control, in points; negative: control does more.

| foreground | best fixed | control | AIMD | bucket | smart | manners | regret |
|---|---|---|---|---|---|---|---|
"
    );
    for c in comparisons {
        let best = if c.best_interval == Nanos::MAX {
            "none keeps the budget".to_owned()
        } else {
            format!("{}: {}", c.best_interval, score(&c.best))
        };
        let _ = writeln!(
            text,
            "| {} | {best} | {} | {} | {} | {} | {} | {:.1} |",
            c.case,
            score(&c.control),
            score(&c.aimd),
            score(&c.bucket),
            score(&c.smart),
            score(&c.manners),
            (c.best.work - c.control.work) * 100.0
        );
    }
    let names = |list: Vec<&Comparison>| {
        let names: Vec<String> = list.iter().map(|c| format!("*{}*", c.case)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let over = |c: &&Comparison| c.control.loss > BUDGET.fraction() + 0.005;
    let less = |c: &&Comparison| c.best.work - c.control.work > 0.10;
    let more = |c: &&Comparison| c.control.work - c.best.work > 0.10 && !over(c);
    let _ = writeln!(
        text,
        "
- Control is over the budget with: {}.
- Control does at least ten points less than the best fixed interval with: {}.
- Control does at least ten points more than any fixed interval within the budget, and keeps the budget, with: {}.",
        names(comparisons.iter().filter(over).collect()),
        names(comparisons.iter().filter(less).collect()),
        names(comparisons.iter().filter(more).collect()),
    );
    text += "
After a change of the mean think time (exponential), in windows of two seconds averaged over many runs: the beginning of the
first two windows in a row with a loss within the budget plus two points and at least half of the work that is done at the end;
the largest loss in a window after the change; the work at the end as a share of the time.

| policy | change | settled after | largest loss | work at the end |
|---|---|---|---|---|
";
    for c in convergences {
        let after = match c.after {
            None => "not within 60 s".to_owned(),
            Some(Nanos::ZERO) => "at once".to_owned(),
            Some(after) => after.to_string(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {after} | {:.1}% | {:.1}% |",
            c.policy,
            c.change,
            c.worst_loss * 100.0,
            c.final_work * 100.0
        );
    }
    text
}
