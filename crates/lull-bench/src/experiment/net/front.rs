//! The foreground of a case: a load with both of its ends, or a server on the job's host with its clients on the other.

use std::ffi::OsString;

use super::case::{Case, Front};
use crate::Error;
use crate::experiment::apps::args::App;
use crate::experiment::apps::server::{Place, Server};
use crate::experiment::trial::{Foreground, Window};
use crate::netbed::{Bed, Host};
use crate::process::Program;

/// A foreground that is ready.
pub(super) struct Ready<'a> {
    bed: &'a Bed,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Its words, without ends and times.
    Load(&'a [String]),
    /// A running server, and its files.
    Server { server: Box<Server>, seed: u64, _directory: tempfile::TempDir },
}

impl<'a> Ready<'a> {
    /// Starts the server, if there is one.
    pub(super) fn make(case: &'a Case, bed: &'a Bed, seed: u64) -> Result<Self, Error> {
        let kind = match &case.foreground {
            Front::Load(words) => Kind::Load(words),
            Front::Server { app, rate } => {
                let directory = tempfile::tempdir().map_err(|error| Error::Unmet {
                    what: "a directory".to_owned(),
                    detail: error.to_string(),
                })?;
                let place = Place { host: Some(&bed.left), directory: directory.path() };
                let server = match app {
                    App::Redis => Server::redis(&place, *rate)?,
                    _ => Server::nginx(&place, *rate, seed)?,
                };
                Kind::Server { server: Box::new(server), seed, _directory: directory }
            }
        };
        Ok(Self { bed, kind })
    }
}

/// Words that make a command run on a host.
pub(super) fn entering(host: &Host) -> Vec<OsString> {
    vec!["nsenter".into(), format!("--net={}", host.namespace().path()).into(), "--".into()]
}

impl Foreground for Ready<'_> {
    fn argv(&self, window: Window, program: &Program) -> Vec<OsString> {
        match &self.kind {
            Kind::Load(words) => {
                let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
                for (flag, host) in [("--from", &self.bed.left), ("--into", &self.bed.right)] {
                    words.extend([flag.into(), host.namespace().path().into()]);
                }
                words.extend(["--to".into(), self.bed.right.v4().to_string().into()]);
                words.extend(window.args());
                words.push("--json".into());
                program.load_argv(words)
            }
            Kind::Server { server, seed, .. } => {
                let mut argv = entering(&self.bed.right);
                argv.extend(server.front(*seed, 0).argv(window, program));
                argv
            }
        }
    }
}
