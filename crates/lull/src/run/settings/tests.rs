//! Files, options and what wins.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{Begins, LendNet, RunSettings, settle};
use lull_api::file::parse;
use lull_api::options::ThisRun;
use lull_api::{Given, HoldChoice, Said};
use lull_core::{DepthChoice, Interval, IntervalChoice, Nanos};
use lull_linux::seccomp::Scope;

/// What these options and this file come to.
pub(crate) fn set(line: &[&str], file: &str) -> anyhow::Result<RunSettings> {
    let given = Given::new(Said::by(line.iter().copied())?, parse(file).map_err(anyhow::Error::msg)?)?;
    settle(given, ThisRun::default())
}

#[test]
fn the_command_line_wins_over_the_file() {
    let file = "[run]\ninterval = \"5ms\"\ndepth = 3\ngate = \"all\"\n";
    let settings = set(&["--depth", "7"], file).unwrap();
    assert_eq!(settings.control.interval, IntervalChoice::Fixed(Interval::Finite(Nanos::from_millis(5))));
    assert_eq!(settings.control.depth, DepthChoice::Fixed(7));
    assert_eq!(settings.scope, Scope::All);
    assert!(settings.hold.is_some());
}

#[test]
fn unknown_keys_and_bad_values_are_refused_by_name() {
    for (text, word) in [
        ("[run]\nintervall = \"5ms\"\n", "intervall"),
        ("[rum]\n", "rum"),
        ("[run]\ninterval = \"5\"\n", "unit"),
        ("[run]\ndepth = 0\n", "depth"),
        ("[run]\ndepth = [1]\n", "depth"),
        ("[run]\ngate = \"most\"\n", "most"),
        ("[run]\nhold = \"thaw\"\n", "thaw"),
    ] {
        let error = format!("{:#}", parse(text).unwrap_err());
        assert!(error.contains(word) && error.lines().count() == 1, "{text}: {error}");
    }
}

#[test]
fn a_job_is_frozen_only_if_that_is_said() {
    let hold = |text: &str| set(&[], text).unwrap().asked.holding.hold;
    assert_eq!(hold(""), HoldChoice::Quota);
    assert_eq!(hold("[run]\nhold = \"freeze\"\n"), HoldChoice::Freeze);
    assert_eq!(hold("[run]\npolicy = \"smart\"\nhold = \"freeze\"\n"), HoldChoice::Freeze);
    let both = set(&["--hold", "quota"], "[run]\nhold = \"freeze\"\n").unwrap();
    assert_eq!(both.asked.holding.hold, HoldChoice::Quota);
}

#[test]
fn the_network_is_lent_when_it_is_used_unless_something_is_said() {
    let net = |text: &str| set(&[], text).unwrap().net;
    assert_eq!(net(""), LendNet::WhenUsed);
    assert_eq!(net("[run]\nresources = [\"disk\"]\n"), LendNet::Never);
    assert_eq!(net("[run]\nresources = [\"disk\", \"net\"]\n"), LendNet::AtOnce);
    // Other programs' traffic is there whether or not the job has any.
    assert_eq!(net("[run]\nqdisc = [\"net9\"]\n"), LendNet::AtOnce);
}

#[test]
fn memory_is_lent_once_the_job_is_large_unless_something_is_said() {
    let begins = |text: &str| {
        let settings = set(&[], text).unwrap();
        settings.memory.map(|aim| aim.begins)
    };
    assert_eq!(begins(""), Some(Begins::WhenLarge));
    assert_eq!(begins("[run]\nresources = [\"disk\", \"cpu\"]\n"), None);
    assert_eq!(begins("[run]\nresources = [\"memory\"]\n"), Some(Begins::AtOnce));
    assert_eq!(begins("[run]\ndirty = \"8MiB\"\n"), Some(Begins::AtOnce));
    assert_eq!(begins("[run]\nmem-clean = \"never\"\n"), Some(Begins::AtOnce));
    let without_bpf = |resources: &str| begins(&format!("[run]\nsensor = \"diskstats\"\n{resources}\n"));
    assert_eq!(without_bpf(""), None);
    assert_eq!(without_bpf("resources = [\"memory\"]"), Some(Begins::AtOnce));
    assert_eq!(begins("[run]\npolicy = \"manners\"\n"), None);
}

#[test]
fn calls_are_trapped_for_the_disks_alone() {
    let with = |resources: &str, more: &str| {
        set(&[], &format!("[run]\nresources = [{resources}]\n{more}\n")).unwrap()
    };
    for resources in ["", "\"disk\"", "\"cpu\", \"disk\""] {
        let settings = with(resources, "gate = \"all\"");
        assert_eq!((settings.scope, settings.io_uring), (Scope::All, false), "[{resources}]");
    }
    for resources in ["\"cpu\"", "\"memory\"", "\"net\"", "\"cpu\", \"memory\", \"net\""] {
        let settings = with(resources, "gate = \"all\"");
        assert_eq!((settings.scope, settings.io_uring), (Scope::None, true), "[{resources}]");
        // The network when used would need its sockets trapped.
        assert_ne!(settings.net, LendNet::WhenUsed, "[{resources}]");
    }
    assert!(!with("\"cpu\"", "io-uring = false").io_uring);
}

#[test]
fn what_concerns_memory_needs_memory() {
    let given = |text: &str| set(&[], text);
    let with = |line: &str| given(&format!("[run]\nresources = [\"memory\"]\n{line}\n"));
    let aim = with("mem-batch = \"4MiB\"").unwrap().memory.unwrap();
    assert_eq!((aim.batch_bytes, aim.cleans), (Some(4 << 20), true));
    let aim = with("mem-clean = \"never\"").unwrap().memory.unwrap();
    assert_eq!((aim.batch_bytes, aim.cleans), (None, false));
    let refused = |outcome: anyhow::Result<RunSettings>| format!("{:#}", outcome.map(|_| ()).unwrap_err());
    assert!(refused(with("mem-batch = \"0\"")).contains("takes nothing"));
    for line in ["mem-batch = \"4MiB\"", "mem-clean = \"never\""] {
        let without = format!("[run]\nresources = [\"disk\"]\n{line}\n");
        assert!(refused(given(&without)).contains("--mem-"), "{line}");
    }
}

#[test]
fn a_measure_is_not_compared_within_holds_that_are_too_short_for_it() {
    let given = |text: &str| set(&[], text);
    let with = |hold: &str| given(&format!("[run]\nslo = \"date +%s\"\nlongest-hold = \"{hold}\"\n"));
    let error = format!("{:#}", with("200ms").map(|_| ()).unwrap_err());
    assert!(error.contains("--longest-hold 200ms") && error.contains("8s or more"), "{error}");
    assert_eq!(with("8s").unwrap().cpu.unwrap().longest, Some(Nanos::from_secs(8)));
    assert!(given("[run]\nslo = \"date +%s\"\n").is_ok(), "the default is not the user's");
}

#[test]
fn the_file_may_name_a_policy_and_the_command_line_wins() {
    let file = "[run]\npolicy = \"smart:1s\"\ninterval = \"5ms\"\n";
    let settings = set(&[], file).unwrap();
    assert_eq!(settings.asked.protection.policy.name(), "smart");
    assert!(!settings.watches_disks && settings.cpu.is_none() && settings.hold.is_none());
    assert!(set(&["--policy", "idletime"], file).unwrap().watches_disks);
}

#[test]
fn options_of_another_policy_are_refused_by_name() {
    let error = set(&["--policy", "manners", "--slo", "true"], "").unwrap_err().to_string();
    assert!(error.contains("--slo") && error.contains("manners"), "{error}");
}
