//! Options about the network: what else is background than the job's own traffic, and whose queue may be arranged.
//!
//! The command line and the section `[run]` of the configuration file hold the same names; what the command line gives of
//! one kind replaces what the file says of it.

use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{anyhow, bail};
use lull_bpf::net::tags::MAX_TAGS;
use lull_bpf::{PacketMark, PortRange, Tags};
use lull_linux::gate::qdisc::{QdiscPlan, default_route_interfaces, each_once};
use lull_linux::root::Root;

use crate::run::protect;

/// `--net-answer` without a value: sockets of all programs.
pub(crate) const EVERYBODY: &str = "all";

/// `--qdisc` without a value.
pub(crate) const DEFAULT_ROUTE: &str = "default-route";

/// Whose queue may be arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QdiscChoice {
    /// That of the interfaces that lead to everywhere.
    DefaultRoute,
    /// That of this one.
    On(QdiscPlan),
}

impl FromStr for QdiscChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            DEFAULT_ROUTE => Ok(Self::DefaultRoute),
            text => text.parse().map(Self::On),
        }
    }
}

/// As given; empty: not.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct NetOptions {
    /// Packets from or to these ports are background too, whichever program sends them.
    ///
    /// They are marked Lower Effort when they leave; new TCP connections of this host yield as the job's do, datagrams wait. Needs
    /// `net` among --resources, if those are given, as the next three. For example 6881-6889,873.
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',')]
    pub(crate) net_ports: Vec<PortRange>,

    /// Packets from this local address are background too, whichever program sends them.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) net_address: Vec<IpAddr>,

    /// Packets that carry this mark (netfilter's, SO_MARK) are background too; with a mask, these bits of it.
    #[arg(long, value_name = "MARK[/MASK]", value_delimiter = ',')]
    pub(crate) net_mark: Vec<PacketMark>,

    /// A socket to which a packet marked Lower Effort came answers as background, until another packet comes.
    ///
    /// Of all programs of this host, or of those in a systemd unit or a v2 control group. For the other end of a job: run it
    /// where the server is.
    #[arg(
        long,
        value_name = "UNIT|CGROUP",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = EVERYBODY
    )]
    pub(crate) net_answer: Option<String>,

    /// Arrange the queue of this interface in two classes while the job runs: what is marked Lower Effort goes last. Repeatable.
    ///
    /// For everybody who sends there (HTB; root). Without a name: of the interfaces of the default routes. With a RATE, as 90mbit,
    /// just below that of the link behind the interface, the queue is here and not there. An interface that somebody has arranged already is
    /// refused, as is a rate other than that of a run which has arranged it. Undone when the job has ended.
    #[arg(
        long,
        value_name = "INTERFACE[:RATE]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_ROUTE
    )]
    pub(crate) qdisc: Vec<QdiscChoice>,
}

impl NetOptions {
    /// What is not given here is taken from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            net_ports: either(self.net_ports, other.net_ports),
            net_address: either(self.net_address, other.net_address),
            net_mark: either(self.net_mark, other.net_mark),
            net_answer: self.net_answer.or(other.net_answer),
            qdisc: either(self.qdisc, other.qdisc),
        }
    }

    /// Whether any is given.
    pub(crate) fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// The interfaces that get two classes.
    ///
    /// # Errors
    /// When there is no default route to tell them by, or one is named with two rates.
    pub(crate) fn qdiscs(&self) -> anyhow::Result<Vec<QdiscPlan>> {
        let mut plans = Vec::new();
        for choice in &self.qdisc {
            match choice {
                QdiscChoice::On(plan) => plans.push(plan.clone()),
                QdiscChoice::DefaultRoute => {
                    let found = default_route_interfaces(&Root::real());
                    if found.is_empty() {
                        bail!("--qdisc: there is no default route here; name the interface, as --qdisc=eth0");
                    }
                    plans.extend(found.into_iter().map(|interface| QdiscPlan { interface, rate_kbit: None }));
                }
            }
        }
        each_once(plans).map_err(|why| anyhow!("--qdisc: {why}"))
    }

    /// Looks up what they name.
    ///
    /// # Errors
    /// More of one kind than the kernel side has room for, or a control group that is not there.
    pub(crate) fn find(self) -> anyhow::Result<Tags> {
        let counts = [
            ("--net-ports", self.net_ports.len()),
            ("--net-address", self.net_address.len()),
            ("--net-mark", self.net_mark.len()),
        ];
        if let Some((option, count)) = counts.into_iter().find(|(_, count)| *count > MAX_TAGS) {
            bail!("{option}: {count} are too many, {MAX_TAGS} can be named; join neighbouring ranges");
        }
        let mut tags = Tags {
            ports: self.net_ports,
            addresses: self.net_address,
            marks: self.net_mark,
            ..Tags::default()
        };
        tags.answers = match self.net_answer.as_deref() {
            None => None,
            Some(EVERYBODY) => Some(protect::v2_root("--net-answer")?),
            Some(name) => Some(protect::group("--net-answer", name)?),
        };
        if !tags.is_empty() {
            let option = if tags.answers.is_some() { "--net-answer" } else { "--net-ports" };
            tags.root_group = Some(protect::v2_root(option)?);
        }
        Ok(tags)
    }
}

/// What to say when the command was not found and may have been meant as the value of an option that takes its value by `=` alone:
/// of all words of the command line, the first that is `command` follows such an option.
pub(crate) fn value_without_equals(words: &[String], command: &str) -> Option<String> {
    let at = words.iter().position(|word| word == command)?;
    let option = words.get(at.checked_sub(1)?)?;
    let takes = ["--qdisc", "--net-answer"].contains(&option.as_str());
    takes.then(|| format!("if it is the value of {option}, write {option}={command}"))
}

fn either<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
    if first.is_empty() { second } else { first }
}

#[cfg(test)]
mod tests;
