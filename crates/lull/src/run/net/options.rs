//! Options about the network: what they name is looked up here.

use anyhow::{anyhow, bail};
use lull_api::options::{EVERYBODY, Network};
use lull_api::{QdiscChoice, takes_value_by_equals};
use lull_bpf::Tags;
use lull_bpf::net::tags::MAX_TAGS;
use lull_linux::gate::qdisc::{QdiscPlan, default_route_interfaces, each_once};
use lull_linux::root::Root;

use crate::run::protect;

/// The interfaces that get two classes.
///
/// # Errors
/// When there is no default route to tell them by, or one is named with two rates.
pub(crate) fn qdiscs(network: &Network) -> anyhow::Result<Vec<QdiscPlan>> {
    let mut plans = Vec::new();
    for choice in &network.qdisc {
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
pub(crate) fn find(network: &Network) -> anyhow::Result<Tags> {
    let counts = [
        ("--net-ports", network.net_ports.len()),
        ("--net-address", network.net_address.len()),
        ("--net-mark", network.net_mark.len()),
    ];
    if let Some((option, count)) = counts.into_iter().find(|(_, count)| *count > MAX_TAGS) {
        bail!("{option}: {count} are too many, {MAX_TAGS} can be named; join neighbouring ranges");
    }
    let mut tags = Tags {
        ports: network.net_ports.clone(),
        addresses: network.net_address.clone(),
        marks: network.net_mark.clone(),
        ..Tags::default()
    };
    tags.answers = match network.net_answer.as_deref() {
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

/// What to say when the command was not found and may have been meant as the value of an option that takes its value by `=` alone:
/// of all words of the command line, the first that is `command` follows such an option.
pub(crate) fn value_without_equals(words: &[String], command: &str) -> Option<String> {
    let at = words.iter().position(|word| word == command)?;
    let option = words.get(at.checked_sub(1)?)?;
    takes_value_by_equals(option).then(|| format!("if it is the value of {option}, write {option}={command}"))
}

#[cfg(test)]
mod tests;
