//! The advice as text.

use std::fmt::Write;

use lull_core::{Nanos, Variant};
use lull_sim::advise::{Advice, Candidate};

/// What was found, the frontier, and what to do.
pub(super) fn page(advice: &Advice) -> String {
    let mut text = format!(
        "{}, device {}: {} foreground and {} background requests in {}\n",
        advice.format, advice.device, advice.foreground_requests, advice.background_requests, advice.span
    );
    let _ = writeln!(
        text,
        "busy with foreground {:.1}% of the time, median gap {}, {}, background request {}",
        advice.busy * 100.0,
        advice.median_gap,
        if advice.slots > 1 {
            format!("several requests at once (each slows the others by {:.0}%)", advice.drag * 100.0)
        } else {
            "one request at a time".to_owned()
        },
        advice.background_service
    );
    for note in &advice.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text += "\n  interval  depth  variant  foreground lost  p99/alone  background/solo\n";
    let mut frontier: Vec<&Candidate> = advice.candidates.iter().filter(|c| c.on_frontier).collect();
    frontier.sort_by(|a, b| a.loss.total_cmp(&b.loss).then(a.interval.cmp(&b.interval)));
    frontier.dedup_by_key(|c| (c.loss.to_bits(), c.background.to_bits()));
    for candidate in frontier {
        text += &line(candidate, advice.recommended.as_ref() == Some(candidate));
    }
    text += "\n";
    let automatic = &advice.automatic;
    let _ = writeln!(
        text,
        "lull run by itself: foreground lost {:.1}%, p99 {:.2}x of alone, background {:.1}% of solo",
        automatic.loss * 100.0,
        automatic.p99,
        automatic.background * 100.0
    );
    text += &match &advice.recommended {
        Some(best) => format!(
            "For a budget of {}: lull run --interval {} --depth {}{} -- COMMAND\n",
            advice.budget,
            written(best.interval),
            best.depth,
            if best.variant == Variant::default() {
                String::new()
            } else {
                format!(" --variant {}", best.variant)
            },
        ),
        None => format!(
            "No setting lets background run within a budget of {}: run it when this foreground is gone, or allow more \
             (--budget).\n",
            advice.budget
        ),
    };
    text
}

fn line(candidate: &Candidate, recommended: bool) -> String {
    format!(
        "{} {:>8} {:>6} {:>8} {:>15.1}% {:>9.2}x {:>15.1}%\n",
        if recommended { '*' } else { ' ' },
        written(candidate.interval),
        candidate.depth,
        candidate.variant,
        candidate.loss * 100.0,
        candidate.p99,
        candidate.background * 100.0
    )
}

/// As `lull run --interval` reads it, without rounding.
fn written(interval: Nanos) -> String {
    if interval == Nanos::ZERO { "none".to_owned() } else { interval.to_string() }
}
