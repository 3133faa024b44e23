//! What has to be the same in measurements that are compared, by name: in the records' host line.

use std::collections::BTreeMap;

use super::Host;
use crate::units::Bytes;

/// The term that may differ in a comparison: what is compared may be two ways to run lull.
pub const LULL_FLAGS: &str = "lull flags";

/// Terms in a line.
pub fn terms_line(terms: &BTreeMap<String, String>) -> String {
    terms.iter().map(|(name, value)| format!("{name} {}", term(name, value))).collect::<Vec<_>>().join(", ")
}

/// The value of a term, as records have it, with its unit.
pub fn term(name: &str, value: &str) -> String {
    match name {
        _ if value.is_empty() => "none".to_owned(),
        "seconds" | "warm-up" | "settle" => format!("{value} s"),
        "redis rate" | "nginx rate" | "postgres rate" => format!("{value}/s"),
        "tree per instance" => {
            value.parse().map_or_else(|_| value.to_owned(), |size: Bytes| size.to_string())
        }
        _ => value.to_owned(),
    }
}

/// The terms on which all of these differ from one another, with their values in the order of the hosts;
/// those that only some know are not among them.
pub fn differing<'a>(all: impl Iterator<Item = &'a Host>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in all.flat_map(|host| &host.terms) {
        let known = values.entry(name).or_default();
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    values.retain(|_, values| values.len() > 1);
    values
}
