//! The section on the `smart` paper: what it says, what was found here, and whether it holds
//! ([`observations`](crate::study::observations)).

use std::fmt::Write as _;

use crate::report::markup::{escaped, html_table};
use crate::study::dominance::FEW;
use crate::study::observations::{Observation, Outcome};
use crate::units::count;

/// A table.
pub(super) fn section(observations: &[Observation], rounds: usize) -> String {
    let mut text = String::from(
        "<h2>Observations 1-5 of the smart paper</h2><p>Yan, Hughes, Riska, Smirni (2012). Verdicts are decided by the criterion beside \
         them, from the records. The paper's smart looks at windows of 10 s, in runs of many minutes; here its windows are as short as the \
         commands below say.</p>",
    );
    if rounds < FEW {
        let _ = write!(
            text,
            "<p class=missed>Some pairs have only {}: what they alone would decide is open.</p>",
            count(rounds, "round")
        );
    }
    let rows = observations.iter().map(|one| {
        let class = match one.outcome {
            Outcome::Holds => "met",
            Outcome::DoesNotHold => "missed",
            Outcome::Open | Outcome::NotMeasured => "quiet",
        };
        let paper = format!("{}. {}", one.number, escaped(&one.paper));
        let outcome = format!("<span class={class}>{}</span>", one.outcome.words());
        vec![paper, escaped(&one.numbers), escaped(&one.criterion), escaped(&one.takes), outcome]
    });
    let header = ["the paper", "here", "holds if", "decided by, at least", "today"];
    text.push_str(&html_table(" class=text", &header, rows));
    text
}
