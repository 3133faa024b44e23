//! What the status line says.
//!
//! Problem: a job has several resources, and a terminal 80 columns. Cutting the line hides whatever comes last.
//!
//! Approach: what the job does now is on every page, in a word where there is no room for more; behind it come as many of
//! the other parts as fit, the rest on further pages. Widths are counted in characters.

use lull_core::Nanos;
use lull_engine::report::figures::bytes;
use lull_engine::report::status::Status;

const BETWEEN: &str = " | ";

/// One or more lines of at most `width` characters.
pub(super) fn pages(status: &Status, width: usize) -> Vec<String> {
    let (head, parts) = (head(status), parts(status));
    let whole = parts.iter().fold(head.clone(), |line, part| join(&line, part));
    if length(&whole) <= width || parts.is_empty() {
        return vec![cut(&whole, width)];
    }
    // Room for the number of the page.
    let room = width.saturating_sub(length(BETWEEN) + 3);
    let mut pages: Vec<String> = Vec::new();
    for part in &parts {
        let added = pages.last().map(|page| join(page, part)).filter(|page| length(page) <= room);
        match (added, pages.last_mut()) {
            (Some(added), Some(page)) => *page = added,
            _ => {
                let page = Some(join(&head, part)).filter(|page| length(page) <= room);
                pages.push(page.unwrap_or_else(|| cut(&join(brief(status), part), room)));
            }
        }
    }
    let count = pages.len();
    if count == 1 {
        return pages;
    }
    let numbered =
        |(index, page): (usize, String)| cut(&join(&page, &format!("{}/{count}", index + 1)), width);
    pages.into_iter().enumerate().map(numbered).collect()
}

/// All of it in one line, with its end.
pub(super) fn whole(status: &Status) -> String {
    let line = parts(status).iter().fold(head(status), |line, part| join(&line, part));
    line.replacen("lull ", "lull: ", 1) + "\n"
}

fn join(line: &str, part: &str) -> String {
    format!("{line}{BETWEEN}{part}")
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// What the job does now.
fn head(status: &Status) -> String {
    let active = format!("active {:.0}%", status.active * 100.0);
    if let Some(regulation) = &status.regulation {
        return format!("lull {regulation}{BETWEEN}{active}");
    }
    let doing = match (status.held, status.waiting, status.state) {
        (true, ..) if status.held_for_test => "held: testing what the job costs",
        (true, ..) if status.held_for_cpu => "held: the foreground uses the CPUs",
        (true, ..) if status.held_for_net => "held: the foreground uses the network",
        (true, ..) => "held: the foreground uses the disk",
        (_, 0, _) if status.starved => "running, but gets no CPU",
        (_, 0, 'I' | 'B') => "running",
        (_, 0, _) => "running (no call waits)",
        (_, _, 'F') => "waiting: the foreground uses the disk",
        (_, _, 'P') => "waiting: preemption interval",
        _ => "waiting: bound on requests in service",
    };
    format!("lull {doing}{BETWEEN}{active}")
}

/// The same in two words.
fn brief(status: &Status) -> &'static str {
    match (status.held, status.waiting, status.state) {
        (true, ..) => "lull held",
        (_, 0, _) if status.starved => "lull starved",
        (_, 0, _) | (_, _, 'I' | 'B') => "lull running",
        _ => "lull waiting",
    }
}

/// The resources that the job uses: where it was active, and what the foreground lost there.
fn parts(status: &Status) -> Vec<String> {
    let mut parts = Vec::new();
    let is_disk_used = status.background_bytes > 0 || status.disk_slowdown.is_some();
    if is_disk_used {
        parts.push(format!(
            "{} {} {}, interval {}, {}",
            status.disk,
            status.state,
            bytes(status.background_bytes),
            status.interval,
            status.bound
        ));
    }
    for (resource, slowdown) in [(status.disk.as_str(), &status.disk_slowdown), ("cpu", &status.cpu_slowdown)]
    {
        if let Some(slowdown) = slowdown {
            parts.push(format!("{resource} slowdown {}", slowdown.text()));
        }
    }
    parts.extend(status.lost.map(|lost| format!("{:.1}% lost in all", lost * 100.0)));
    parts.extend(status.memory.clone());
    for link in &status.links {
        parts.push(format!(
            "{} {} {}, interval {}",
            link.interface,
            link.state,
            bytes(link.background_bytes),
            link.interval
        ));
    }
    match (status.quiet_ns, status.loaded_ns) {
        _ if !is_disk_used => {}
        (Some(quiet), Some(loaded)) => {
            parts.push(format!(
                "{}: foreground {} without, {} with us",
                status.disk,
                Nanos(quiet),
                Nanos(loaded)
            ));
        }
        (Some(quiet), None) => {
            parts.push(format!("{}: foreground {}, never met us", status.disk, Nanos(quiet)));
        }
        _ => {}
    }
    parts
}

#[cfg(test)]
mod tests;
