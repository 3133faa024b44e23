//! What wins.

use super::*;
use crate::file::parse;
use crate::options::{MEMORY, NETWORK};
use lull_core::{ControlSetting, DepthChoice, Loss};

fn given(line: &[&str], file: &str) -> Given {
    Given::new(Said::by(line.iter().copied()).unwrap(), parse(file).unwrap()).unwrap()
}

#[test]
fn the_command_line_goes_before_the_file_and_the_file_before_the_defaults() {
    let file =
        "[run]\nmax-slowdown = \"2%\"\ndepth = 3\nrelease-leftovers = true\ndisk = [\"vda\", \"vdb\"]\n";
    let options = given(&["--depth", "7", "--disk", "vdc"], file).options;
    assert_eq!(options.protection.max_slowdown, Loss::percent(2));
    assert_eq!(options.disks.depth, DepthChoice::Fixed(7));
    assert_eq!(options.disks.disk, ["vdc"], "a list replaces a list");
    assert!(options.holding.release_leftovers);
}

#[test]
fn what_the_policy_takes_by_default_is_what_the_table_says() {
    let options = given(&[], "").options;
    let told = ControlSetting {
        interval: options.disks.interval,
        window: options.disks.window,
        depth: options.disks.depth,
        max_delay: options.protection.max_delay,
        variant: options.disks.variant,
        start_rule: options.disks.start,
        ..ControlSetting::default()
    };
    assert_eq!(told, ControlSetting::default());
}

#[test]
fn it_is_known_what_was_said_and_by_whom() {
    let said = given(&["--net-mark", "5"], "[run]\ninterval = \"5ms\"\n");
    assert!(said.has(NETWORK) && !said.has(MEMORY));
    assert!(given(&[], "[run]\nmem-low = 0\n").has(MEMORY), "even if it is the default");
    assert_eq!(said.of_idletime().as_deref(), Some("net-mark"));
    assert_eq!(given(&["--policy", "smart", "--hold", "freeze"], "[run]\ndepth = 3\n").of_idletime(), None);
}
