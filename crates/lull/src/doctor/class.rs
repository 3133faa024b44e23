//! Whether the job's CPU class is in force, by experiment.

use std::io;

use lull_linux::cgroup::{GroupName, JobGroup, Reach};
use lull_linux::marks::Plan;
use lull_linux::marks::force::{Shares, compare};
use lull_linux::probe::Facts;
use lull_linux::root::Root;
use lull_linux::systemd::Scope;
use serde::Serialize;

use super::page::{Page, Tone};

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Class {
    /// The group inside which it counts: `None` for everywhere.
    pub(super) inside: Option<String>,
    /// What a task of this process's class and one of the job's had of one CPU.
    pub(super) shares: Option<Shares>,
    /// Why that is not known, or why the job's group is not at the top.
    pub(super) why: Option<String>,
}

impl Class {
    /// Makes groups as a job has them, tries, and takes all away again.
    pub(super) fn find(facts: &Facts, plan: &Plan, scope: Option<&Scope>, refusal: Option<String>) -> Self {
        let root = Root::real();
        let group = JobGroup::create(&GroupName::next(&root), &facts.cgroups);
        let idle = group.set_idle_cpu();
        let reach = group.reach(&facts.cgroups);
        let to_job = |pid| match (group.add(pid), scope) {
            (Err(_), Some(scope)) => group
                .paths()
                .iter()
                .try_for_each(|path| scope.attach(&root, pid, path))
                .map_err(io::Error::other),
            (moved, _) => moved.map_err(io::Error::other),
        };
        let shares = compare(plan.marks, to_job);
        let left = group.remove();
        let inside = match reach {
            Reach::Everybody => None,
            Reach::Within(group) => Some(group.display().to_string()),
            Reach::Session => Some("the own session or control group".to_owned()),
        };
        let errors = [idle.err(), left.err()].into_iter().flatten().map(|error| error.to_string());
        let cgroups = &facts.cgroups;
        let stays =
            cgroups.v1_of("cpu").or(cgroups.v2.as_ref()).and_then(|hierarchy| hierarchy.inside.clone());
        let failed = shares.as_ref().err().map(|error| format!("not known: {error}"));
        let why = failed.or(refusal).or(stays).or_else(|| errors.into_iter().next());
        Self { inside, shares: shares.ok(), why }
    }

    /// Whether everybody comes before the job, as far as is known.
    pub(super) fn is_in_force(&self) -> bool {
        self.inside.is_none() && self.shares.is_none_or(|shares| shares.in_force())
    }

    /// Writes the line.
    pub(super) fn write(&self, page: &mut Page) {
        let because = self.why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        let Some(shares) = self.shares else {
            page.line("class in force", Tone::Fair, because.trim_start_matches("; "));
            return;
        };
        let had = format!(
            "of one CPU a task with the job's class had {:.0}%, one of this session the rest",
            shares.of_job() * 100.0
        );
        let (tone, text) = match (shares.in_force(), &self.inside) {
            (true, None) => (Tone::Good, format!("yes: {had}")),
            (true, Some(inside)) => (Tone::Fair, format!("inside {inside} only: {had}{because}")),
            (false, None) => (Tone::Bad, format!("NO: {had}{because}")),
            (false, Some(inside)) => (Tone::Bad, format!("NO, inside {inside} only: {had}{because}")),
        };
        page.line("class in force", tone, &text);
    }
}

#[cfg(test)]
mod tests;
