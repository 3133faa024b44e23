//! `lull condor publish`: what a node tells of its owner and its guests, as ClassAds, to the startd that runs it.
//!
//! ```text
//!   LullOwnerActive = true
//!   …
//!   - update:true
//! ```
//!
//! A line that begins with a dash ends an ad; `update:true` has the startd send it to the collector at once. That is asked for when the owner comes or
//! goes, and once a minute while a guest runs beside him, so that others know that it may want to move. All other news go with the startd's
//! regular ones.
//!
//! The collector is asked for places only where the policy can use them: beside an owner, with a guest, from the least age on at which a guest
//! could want to move.
//!
//! It ends when nobody reads any more, and when it is to run with other arguments: the startd then starts it again.
//!
//! Source: HTCondor Manual, *Startd Cron and Schedd Cron*.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write as _};

use clap::Args;
use lull_core::linger::episode::OwnerSetting;
use lull_core::linger::{GuestPolicy, TAIL};
use lull_core::{Nanos, Share};
use lull_linux::cgroup::Reach;
use nix::sys::signal::Signal;

use super::DAEMONS;
use super::ask::setting;
use super::config::ARGS;
use super::places::{self, Elsewhere};
use crate::guests::below;
use crate::guests::signals::Signals;
use crate::guests::watch::{Seen, Watch};

/// How often others are told of a guest beside an owner.
const TELL_EVERY_S: f64 = 60.0;
/// How often the collector is asked at the most.
const ASK_EVERY_S: f64 = 5.0;

/// How many times what a restart takes a move may take, and news of it.
const RESTARTS_TO_SETTLE: f64 = 3.0;

/// Arguments of `lull condor publish`.
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The policy that this node was installed with.
    #[arg(long, value_name = "POLICY", default_value_t = GuestPolicy::LingerLonger)]
    policy: GuestPolicy,

    /// The share of one CPU from which on its use is a sign of an owner at work.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    busy: Share,

    /// After so long without a sign an owner is away.
    #[arg(long, value_name = "TIME", default_value = "15min")]
    away_after: Nanos,

    /// How often the node is looked at.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    period: Nanos,

    /// What a move takes besides the transfer.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    restart: Nanos,

    /// Look once and end.
    #[arg(long)]
    once: bool,
}

/// What has been told, and asked.
#[derive(Clone, Copy, Debug)]
struct Told {
    in_use: bool,
    places: usize,
    at_s: f64,
    asked_s: f64,
    /// Guests at the last look, and when there became fewer.
    guests: usize,
    departed_s: f64,
    /// It was said that the collector does not answer.
    unanswered: bool,
}

pub(super) fn run(args: &PublishArgs) -> anyhow::Result<()> {
    let owner = OwnerSetting { busy: args.busy.fraction(), away_after: args.away_after };
    let machine = setting("FULL_HOSTNAME").ok().flatten().unwrap_or_default();
    let mut watch = Watch::new(DAEMONS, owner);
    let mut told = Told {
        in_use: false,
        places: 0,
        at_s: 0.0,
        asked_s: 0.0,
        guests: 0,
        departed_s: 0.0,
        unanswered: false,
    };
    let mut elsewhere = Elsewhere::unknown();
    let reconfigured = Signals::block([Signal::SIGHUP])?;
    loop {
        if reconfigured.came_within(std::time::Duration::from_nanos(args.period.0)) && is_outdated() {
            return Ok(());
        }
        let seen = watch.look();
        if !asks(args, &seen) {
            elsewhere = Elsewhere::unknown();
        } else if seen.time_s - told.asked_s >= ASK_EVERY_S.min(args.period.as_secs_f64()) {
            told.asked_s = seen.time_s;
            // Without an answer nobody moves. The startd's log has why.
            elsewhere = places::look(&machine, seen.since_s).unwrap_or_else(|error| {
                if !std::mem::replace(&mut told.unanswered, true) {
                    eprintln!("lull: no place can be found for a guest: {error:#}");
                }
                Elsewhere::unknown()
            });
        }
        if seen.guests < told.guests {
            told.departed_s = seen.time_s;
        }
        told.guests = seen.guests;
        if is_settling(args, &told, seen.time_s) {
            elsewhere.mover.clear();
        }
        let is_news = is_news(&told, &seen, &elsewhere);
        let reach = (seen.guests > 0).then(|| below::reach(DAEMONS)).flatten();
        if is_news {
            told = Told { in_use: seen.in_use, places: elsewhere.places, at_s: seen.time_s, ..told };
        }
        let written =
            io::stdout().lock().write_all(ad(&seen, &elsewhere, reach.as_ref(), is_news).as_bytes());
        match written.and_then(|()| io::stdout().lock().flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            other => other?,
        }
        if args.once {
            return Ok(());
        }
    }
}

/// Whether the startd would run it with other arguments by now. It leaves one that runs alone, and tells it only that something has changed.
fn is_outdated() -> bool {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let wanted = setting(ARGS).ok().flatten().unwrap_or_default();
    // Where it was started otherwise nothing is wanted of it.
    !wanted.is_empty() && wanted.split_whitespace().ne(given.iter().map(String::as_str))
}

/// Whether a guest of this node could want to move.
fn asks(args: &PublishArgs, seen: &Seen) -> bool {
    let may = matches!(args.policy, GuestPolicy::LingerLonger | GuestPolicy::PauseAndMigrate);
    // Nothing is gained faster than a whole CPU, and nothing costs less than the pause.
    let least_age_s = match args.policy {
        GuestPolicy::LingerLonger => TAIL * args.restart.as_secs_f64(),
        _ => 0.0,
    };
    may && seen.in_use && seen.guests > 0 && seen.time_s - seen.since_s >= least_age_s
}

/// Whether a guest that has just left may still be on its way: until it has come the place that it takes is free to see, and nobody else is sent there.
fn is_settling(args: &PublishArgs, told: &Told, now_s: f64) -> bool {
    now_s - told.departed_s < RESTARTS_TO_SETTLE * args.restart.as_secs_f64()
}

/// Whether others have to know at once.
fn is_news(told: &Told, seen: &Seen, elsewhere: &Elsewhere) -> bool {
    let beside = seen.in_use && seen.guests > 0;
    told.in_use != seen.in_use
        || (told.places == 0) != (elsewhere.places == 0)
        || told.at_s == 0.0
        || (beside && seen.time_s - told.at_s >= TELL_EVERY_S)
}

/// The ad.
fn ad(seen: &Seen, elsewhere: &Elsewhere, reach: Option<&Reach>, is_news: bool) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a text never fails.
        let _ = writeln!(text, "{name} = {value}");
    };
    line("LullTime", &format!("{:.3}", seen.time_s));
    line("LullOwnerActive", &seen.in_use);
    line("LullOwnerSince", &format!("{:.3}", seen.since_s));
    line("LullOwnerCpus", &format!("{:.4}", seen.owner_cpus));
    line("LullIdleCpus", &format!("{:.4}", seen.idle_cpus()));
    line("LullGuests", &seen.guests);
    line("LullGuestCpus", &format!("{:.4}", seen.guest_cpus));
    line("LullGuestShare", &format!("{:.4}", seen.share));
    line("LullPlaceShare", &format!("{:.4}", seen.share_of_one_more()));
    line("LullHostLoss", &format!("{:.5}", seen.loss));
    line("LullPlaces", &elsewhere.places);
    line("LullElsewhereShare", &format!("{:.4}", elsewhere.share));
    line("LullMover", &format!("\"{}\"", elsewhere.mover));
    if let Some(reach) = reach {
        line("LullBelow", &format!("\"{}\"", below::words(reach)));
    }
    text += if is_news { "- update:true\n" } else { "-\n" };
    text
}

#[cfg(test)]
mod tests;
