//! The foreground of a case: a load with both of its ends, or a server on the job's host with its clients on
//! the other.

use tempfile::TempDir;

use super::case::{Case, ForegroundKind};
use crate::Error;
use crate::error::Context;
use crate::experiment::apps::args::App;
use crate::experiment::apps::server::{Place, Server};
use crate::experiment::trial::Foreground;
use crate::netbed::Bed;
use crate::process::words;

/// The foreground, and the server with its files if it has one: that is started.
pub(super) fn prepare(
    case: &Case,
    bed: &Bed,
    seed: u64,
) -> Result<(Foreground, Option<(Server, TempDir)>), Error> {
    match &case.foreground {
        ForegroundKind::Load(load) => {
            let [from, into] = [&bed.left, &bed.right].map(|host| host.namespace().path());
            let to = bed.right.v4();
            let load = words(&format!("{load} --from {from} --into {into} --to {to}"));
            Ok((Foreground::of(load), None))
        }
        ForegroundKind::Server { app, rate } => {
            let directory = tempfile::tempdir().to("make a directory for the server")?;
            let place = Place { host: Some(&bed.left), directory: directory.path() };
            let server = match app {
                App::Redis => Server::redis(&place, *rate)?,
                _ => Server::nginx(&place, *rate, seed)?,
            };
            let foreground = Foreground { before: bed.right.entering(), ..server.foreground(seed, 0) };
            Ok((foreground, Some((server, directory))))
        }
    }
}
