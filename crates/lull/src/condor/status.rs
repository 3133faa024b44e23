//! `lull condor status`: the pool, for people and scripts.
//!
//! All of it comes from the collector, as the startds evaluate it: this command knows no rule of its own, it only says in words which of the numbers
//! decided.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::ask::slots;

/// Arguments of `lull condor status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Ask this central manager instead of the configured one.
    #[arg(long, value_name = "HOST")]
    pool: Option<String>,

    /// Print it as JSON: times in seconds, shares from 0 to 1.
    #[arg(long)]
    json: bool,
}

/// What is asked of each slot.
const ATTRIBUTES: [&str; 18] = [
    "Name",
    "State",
    "Activity",
    "JobId",
    "RemoteOwner",
    "LullPolicy",
    "LullKnown",
    "LullOwnerActive",
    "LullAge",
    "LullOwnerCpus",
    "LullGuestShare",
    "LullHostLoss",
    "LullDecision",
    "LullMoveAge",
    "LullMoveCost",
    "LullGain",
    "LullSaves",
    "LullDoneHereFirst",
];

/// A slot of the pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Slot {
    name: String,
    state: String,
    activity: String,
    job: Option<String>,
    user: Option<String>,
    /// None where lull is not installed.
    policy: Option<String>,
    known: bool,
    owner_active: Option<bool>,
    owner_age_s: Option<f64>,
    owner_cpus: Option<f64>,
    share: Option<f64>,
    host_loss: Option<f64>,
    decision: Option<String>,
    move_age_s: Option<f64>,
    move_cost_s: Option<f64>,
    gain: Option<f64>,
    saves: bool,
    done_here_first: bool,
}

pub(super) fn run(args: &StatusArgs) -> anyhow::Result<()> {
    let rows = slots(None, args.pool.as_deref(), ATTRIBUTES)?;
    let slots: Vec<Slot> = rows.iter().map(slot).collect();
    let text = if args.json { serde_json::to_string_pretty(&slots)? + "\n" } else { table(&slots) };
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn slot(row: &[super::ask::Value; ATTRIBUTES.len()]) -> Slot {
    let text = |at: usize| row[at].text().map(str::to_owned);
    let number = |at: usize| row[at].number();
    Slot {
        name: text(0).unwrap_or_default(),
        state: text(1).unwrap_or_default(),
        activity: text(2).unwrap_or_default(),
        job: text(3),
        user: text(4),
        policy: text(5),
        known: row[6].is_true().unwrap_or(false),
        owner_active: row[7].is_true(),
        owner_age_s: number(8),
        owner_cpus: number(9),
        share: number(10),
        host_loss: number(11),
        decision: text(12),
        move_age_s: number(13),
        move_cost_s: number(14),
        gain: number(15),
        saves: row[16].is_true().unwrap_or(false),
        done_here_first: row[17].is_true().unwrap_or(false),
    }
}

/// A time with as many digits as anybody reads.
fn short(s: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float to int casts saturate"
    )]
    let s = s.max(0.0).round() as u64;
    match s {
        0..180 => format!("{s}s"),
        180..10_800 => format!("{}min", s / 60),
        _ => format!("{}h", s / 3_600),
    }
}

impl Slot {
    fn owner(&self) -> String {
        match (self.known, self.owner_active, self.owner_age_s) {
            (true, Some(true), Some(age_s)) => {
                format!("at work {}, {:.2} CPUs", short(age_s), self.owner_cpus.unwrap_or(0.0))
            }
            (true, Some(false), Some(age_s)) => format!("away {}", short(age_s)),
            _ => "unknown".to_owned(),
        }
    }

    fn guest(&self) -> String {
        let Some(job) = &self.job else { return "-".to_owned() };
        let user = self.user.as_deref().and_then(|user| user.split('@').next()).unwrap_or("?");
        format!("{job} {user}")
    }

    fn is_beside(&self) -> bool {
        self.known && self.owner_active == Some(true)
    }

    /// The decision, and the numbers behind it.
    fn why(&self) -> String {
        if self.policy.is_none() {
            return format!("no lull: {} {}", self.state, self.activity).to_lowercase();
        }
        let decision = self.decision.as_deref().unwrap_or("unknown");
        let reason = match (decision, self.policy.as_deref()) {
            ("unknown", _) => "nothing fresh from the node: nobody is moved, nobody starts".to_owned(),
            ("linger", Some("linger-longer")) if self.done_here_first => {
                "it is done sooner than moved".to_owned()
            }
            ("linger", Some("linger-longer")) => match (self.move_age_s, self.move_cost_s, self.gain) {
                (Some(age_s), Some(cost_s), Some(gain)) => format!(
                    "until the owner is there for {}: moving costs {} of work{} and gains {gain:.2} of a CPU",
                    short(age_s),
                    short(cost_s),
                    if self.saves { "" } else { ", all that it has done included," },
                ),
                _ => "nothing is gained elsewhere".to_owned(),
            },
            ("waits for a place", _) => {
                "lingering has cost as much as moving, and no place is free".to_owned()
            }
            ("move", _) => "lingering has cost as much as moving, and a place is free".to_owned(),
            ("evict", _) => "the owner is back".to_owned(),
            _ => return decision.to_owned(),
        };
        format!("{decision}: {reason}")
    }
}

fn table(slots: &[Slot]) -> String {
    if slots.is_empty() {
        return "the pool has no execute nodes\n".to_owned();
    }
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}"));
    let cost = |slot: &Slot| match slot.host_loss {
        Some(loss) if slot.is_beside() && slot.job.is_some() => format!("{:.1}%", loss * 100.0),
        _ => "-".to_owned(),
    };
    let head = ["NODE", "OWNER", "GUEST", "SHARE", "COSTS", "WHAT AND WHY"].map(str::to_owned);
    let rows = slots.iter().map(|slot| {
        let known = slot.share.filter(|_| slot.known);
        [slot.name.clone(), slot.owner(), slot.guest(), share(known), cost(slot), slot.why()]
    });
    let rows: Vec<[String; 6]> = [head].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
