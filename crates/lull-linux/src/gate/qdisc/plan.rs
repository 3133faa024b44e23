//! On which interface, and at which rate.
//!
//! Text form: `eth0`, or `eth0:90mbit` with a rate in kbit, mbit or gbit per second.

use std::str::FromStr;

use crate::root::Root;

/// An interface that gets two classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QdiscPlan {
    /// As `ip link` shows it.
    pub interface: String,
    /// What may leave it per second; `None`: what the driver takes.
    pub rate_kbit: Option<u64>,
}

/// Units of rates, and how many kilobits they are.
const UNITS: [(&str, u64); 3] = [("kbit", 1), ("mbit", 1_000), ("gbit", 1_000_000)];
/// The longest name of an interface.
const NAME_BYTES: usize = 15;

impl FromStr for QdiscPlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A rate comes last: names of aliases have colons too.
        let (interface, rate_kbit) = match text.rsplit_once(':') {
            None => (text, None),
            Some((interface, rate)) => (interface, Some(parse_rate(rate)?)),
        };
        let is_name = |name: &str| !name.is_empty() && name.len() <= NAME_BYTES;
        if !is_name(interface) || interface.contains([' ', '/']) {
            return Err(format!("'{text}' names no interface; use eth0 or eth0:90mbit"));
        }
        Ok(Self { interface: interface.to_owned(), rate_kbit })
    }
}

fn parse_rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no rate; use a number with kbit, mbit or gbit, as 90mbit");
    let (digits, kbit) = UNITS
        .iter()
        .find_map(|(unit, kbit)| text.strip_suffix(unit).map(|digits| (digits, *kbit)))
        .ok_or_else(wrong)?;
    let rate = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(kbit));
    rate.filter(|rate| (100..=100_000_000).contains(rate)).ok_or_else(wrong)
}

/// A rate as it is given: in the largest unit of which it is a multiple.
pub fn rate_text(rate_kbit: u64) -> String {
    let fits = |(_, kbit): &&(&str, u64)| rate_kbit.is_multiple_of(*kbit);
    let (unit, kbit) = UNITS.iter().rfind(fits).unwrap_or(&UNITS[0]);
    format!("{}{unit}", rate_kbit / kbit)
}

/// Each interface once. What is named without a rate leaves that open.
///
/// # Errors
/// In one line, if an interface is named with two rates.
pub fn each_once(plans: impl IntoIterator<Item = QdiscPlan>) -> Result<Vec<QdiscPlan>, String> {
    let mut all: Vec<QdiscPlan> = Vec::new();
    for plan in plans {
        let Some(known) = all.iter_mut().find(|known| known.interface == plan.interface) else {
            all.push(plan);
            continue;
        };
        match (known.rate_kbit, plan.rate_kbit) {
            (Some(one), Some(other)) if one != other => {
                let (interface, [one, other]) = (&plan.interface, [one, other].map(rate_text));
                return Err(format!("'{interface}' is named with two rates, {one} and {other}; give one"));
            }
            (known_rate, rate) => known.rate_kbit = known_rate.or(rate),
        }
    }
    Ok(all)
}

/// The interfaces that lead to everywhere, IPv4's first, each once.
pub fn default_route_interfaces(root: &Root) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let v4 = root.read("/proc/net/route").unwrap_or_default();
    let v6 = root.read("/proc/net/ipv6_route").unwrap_or_default();
    let v4 = v4.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Destination and mask.
        (fields.get(1)? == &"00000000" && fields.get(7)? == &"00000000").then(|| fields[0].to_owned())
    });
    let v6 = v6.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_default = fields.first()?.bytes().all(|byte| byte == b'0') && fields.get(1)? == &"00";
        // The kernel's own entry for "nowhere" is at the loopback device.
        (is_default && fields.last()? != &"lo").then(|| (*fields.last().unwrap_or(&"")).to_owned())
    });
    for interface in v4.chain(v6) {
        if !found.contains(&interface) {
            found.push(interface);
        }
    }
    found
}

#[cfg(test)]
mod tests;
