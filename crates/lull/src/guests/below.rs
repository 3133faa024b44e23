//! Guests stay below everybody on the CPUs, whatever control groups a batch system runs them in.
//!
//! A guest marks itself, but its class counts in its group only, and only root may change that. So the batch system's first daemon, which is root's, runs
//! [`run`] beside its others; how it is done says [`lull_linux::below`]. Anybody may ask how far the class of the present guests counts
//! ([`reach`]).

use std::os::unix::process::parent_id;
use std::time::Duration;

use lull_linux::below::{Below, CpuTree};
use lull_linux::cgroup::{CgroupFacts, Reach};
use lull_linux::root::Root;
use lull_linux::sense::tenants::{Daemons, guests};
use nix::sys::signal::Signal;

use super::signals::Signals;

/// How often it is looked for guests that have come. Until then one is below its own group only.
const PERIOD: Duration = Duration::from_secs(2);

/// Keeps guests below everybody until a signal to end comes, or until the daemon that started it is gone; then all is put back.
///
/// # Errors
/// When signals cannot be waited for.
pub(crate) fn run(daemons: Daemons) -> anyhow::Result<()> {
    let root = Root::real();
    let ends = Signals::block([Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP])?;
    let parent = parent_id();
    let mut below = Below::new(&root);
    let mut told = None;
    while parent_id() == parent && !ends.came_within(PERIOD) {
        // Without rights, or without a cpu controller, there is nothing to do; whoever started this would start it again and again.
        let Some(below) = &mut below else { continue };
        for process in guests(&root, daemons) {
            if let Err(error) = below.keep(&root, process.pid, process.starter) {
                let line = format!("lull: guests are not below everybody on the CPUs: {error}");
                if told.as_ref() != Some(&line) {
                    eprintln!("{line}");
                    told = Some(line);
                }
            }
        }
    }
    if let Some(below) = below {
        below.restore();
    }
    Ok(())
}

/// Who comes before the guests that are here now, as far as the least protected of them goes; `None` without guests, or without control groups.
pub(crate) fn reach(daemons: Daemons) -> Option<Reach> {
    let root = Root::real();
    let tree = CpuTree::find(&CgroupFacts::read(&root, false))?;
    let reaches = guests(&root, daemons)
        .into_iter()
        .filter_map(|guest| Some(tree.reach(&tree.group_of(&root, guest.pid)?)));
    reaches.max_by_key(|reach| match reach {
        Reach::Everybody => 0,
        Reach::Within(_) => 1,
        Reach::Session => 2,
    })
}

/// The word for a class that counts against all.
pub(crate) const EVERYBODY: &str = "everybody";

/// In words: before whom guests come last.
pub(crate) fn words(reach: &Reach) -> String {
    match reach {
        Reach::Everybody => EVERYBODY.to_owned(),
        Reach::Within(group) => format!("those in /{}", group.display()),
        Reach::Session => "those in their own control group".to_owned(),
    }
}
