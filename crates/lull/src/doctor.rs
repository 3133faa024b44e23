//! `lull doctor`: what works on this host, what does not, and what would improve it.
//!
//! Problem: half of the well-known advice on background work has no effect on a given machine, and nothing says so: the
//! commands succeed. Approach: the probe's facts and the plan that `lull run` follows are told in full sentences, and for
//! every shortcoming the exact command that would mend it, where there is one. Nothing is decided here: what is shown as
//! chosen is the plan itself.
//!
//! With an operand, only the disks that serve that file, directory or device are told, in the order in which a request
//! meets them. `--json` gives the same facts and plan to scripts.
//!
//! Edge cases: a path on no disk (tmpfs, nfs) is an answer, not an error. Colour is used on terminals only, and not if
//! `NO_COLOR` is set. A reader that closes the pipe early (`lull doctor | head`) is no error.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use lull_linux::marks::Plan;
use lull_linux::probe::Facts;
use lull_linux::root::Root;
use lull_linux::systemd;
use lull_linux::topology::{Disk, Topology};
use serde::Serialize;

mod advice;
mod class;
mod condor;
mod memory;
mod network;
mod page;
mod report;
mod reservations;
mod signals;

use advice::Advice;
use class::Class;
use condor::Condor;
use memory::Memory;
use network::Network;
use page::Page;
use reservations::Reservations;
use signals::Signals;

/// Arguments of `lull doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the facts and the plan as JSON.
    #[arg(long)]
    json: bool,

    /// Tell only about the disks that serve this file, directory or device (a path, or a name like sda).
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

/// What was asked about, and what serves it.
#[derive(Debug, Serialize)]
struct Asked {
    path: PathBuf,
    served_by: Vec<Disk>,
}

/// All that `--json` prints.
#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
    facts: Facts,
    plan: Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    signals: Option<Signals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservations: Option<Reservations>,
    #[serde(skip_serializing_if = "Option::is_none")]
    htcondor: Option<Condor>,
    advice: Vec<Advice>,
}

/// Looks and tells.
///
/// # Errors
/// When the operand can't be looked at, or the answer can't be written.
pub(crate) fn run(args: DoctorArgs) -> anyhow::Result<()> {
    let mut facts = Facts::probe();
    let asked = args.path.map(|path| ask(&Topology::host(), path)).transpose()?;
    if let Some(asked) = &asked {
        facts.disks.retain(|disk| asked.served_by.iter().any(|served| served.dev == disk.dev));
        facts.disks.sort_by_key(|disk| asked.served_by.iter().position(|served| served.dev == disk.dev));
    }
    let reservations = asked.is_none().then(|| Reservations::look(&facts));
    // The facts are then those of the place that a job would have.
    let (scope, refusal) =
        match asked.as_ref().map_or_else(|| facts.cgroups.ask_systemd(&Root::real()), |_| Ok(None)) {
            Ok(scope) => (scope, None),
            Err(error) => (None, Some(error.to_string())),
        };
    let plan = Plan::for_facts(&facts);
    let class = asked.is_none().then(|| Class::find(&facts, &plan, scope.as_ref(), refusal));
    drop(scope);
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("lull"));
    let advice = match asked {
        Some(_) => advice::disks(&facts).collect(),
        None => advice::all(&facts, class.as_ref(), &program, systemd::is_running(&Root::real())),
    };
    let signals = if asked.is_none() { Signals::look(&facts) } else { None };
    let memory = asked.is_none().then(|| Memory::of(&facts));
    let network = asked.is_none().then(|| Network::look(&facts));
    let htcondor = if asked.is_none() { Condor::look() } else { None };
    let findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        asked,
        facts,
        plan,
        signals,
        class,
        memory,
        network,
        reservations,
        htcondor,
        advice,
    };
    let text = if args.json {
        serde_json::to_string_pretty(&findings).context("cannot write the findings as JSON")? + "\n"
    } else {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let mut page = Page::new(colour);
        report::write(&mut page, &findings);
        page.finish()
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// What serves a path, or a device given by its bare name.
fn ask(topology: &Topology<'_>, path: PathBuf) -> anyhow::Result<Asked> {
    let bare = path.to_str().filter(|name| !name.contains('/') && !path.exists());
    let served_by = match bare.and_then(|name| topology.dev_of_name(name).ok()) {
        Some(dev) => topology.serving_disks(dev)?,
        None => topology.disks_of_file(&path)?,
    };
    Ok(Asked { path, served_by })
}

#[cfg(test)]
mod tests;
