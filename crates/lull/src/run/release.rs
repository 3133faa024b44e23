//! Letting go what a command has left behind, like a server that it started: it is foreground from then on.
//!
//! ```text
//!   lull set PID --release ──▶ thread of the socket ──wish──▶ loop thread: marks off, out of the group
//!                           ◀──────────how many────────────   … and the supervisor ends
//! ```
//! The filter stays with these processes for good; their calls are passed at once by the guardian, which lives as long as they do.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};

use lull_linux::cgroup::JobGroup;
use lull_linux::marks::Plain;
use lull_linux::root::Root;

use super::adjust::{Asker, PATIENCE};
use lull_engine::lock::lock;
use lull_engine::nudge::Nudge;

/// How often, and how long apart, what seems to be left is looked at again: it may be on its way out.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: std::time::Duration = std::time::Duration::from_millis(20);

/// The loop thread's end.
pub(crate) struct Wishes(Receiver<SyncSender<usize>>);

/// Both ends. `has_ended`: whether the command has, which is asked for each wish.
pub(crate) fn line(nudge: &Arc<Nudge>, has_ended: impl Fn() -> bool + Send + 'static) -> (Asker, Wishes) {
    let (sender, wishes): (Sender<SyncSender<usize>>, _) = channel();
    let (sender, nudge) = (Mutex::new(sender), Arc::clone(nudge));
    let ask = move || {
        if !has_ended() {
            return Err(
                "its command has not ended: what is let go is what a command leaves behind".to_owned()
            );
        }
        let (reply, count) = sync_channel(1);
        let asked = lock(&sender).send(reply);
        nudge.give();
        let count = asked.ok().and_then(|()| count.recv_timeout(PATIENCE).ok());
        count.ok_or_else(|| "nothing was let go: it is ending".to_owned())
    };
    (Box::new(ask), Wishes(wishes))
}

impl Wishes {
    /// A wish that has come.
    pub(crate) fn take(&self) -> Option<SyncSender<usize>> {
        self.0.try_recv().ok()
    }
}

/// Makes these processes, and the group that they are in, foreground. Returns how many there were.
pub(crate) fn let_go(pids: &[i32], group: Option<JobGroup>, plain: Plain) -> usize {
    pids.iter().for_each(|pid| plain.restore(*pid));
    if let Some(group) = group {
        // What cannot be moved now stays in a group that holds nothing back, for the guardian to remove.
        let _ = group.relieve();
        let _ = group.remove();
    }
    pids.len()
}

/// What a command has left behind, for people; `None`: nothing.
pub(crate) fn leftovers(group: Option<&JobGroup>, front: u32) -> Option<String> {
    let group = group?;
    let mut pids = group.procs().unwrap_or_default();
    for _ in 0..LOOKS {
        if pids.is_empty() {
            return None;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        pids = group.procs().unwrap_or_default();
    }
    let root = Root::real();
    let name = |pid: &i32| Some(format!("{} ({pid})", root.read(format!("/proc/{pid}/comm"))?.trim_end()));
    let names: Vec<String> = pids.iter().take(NAMED).filter_map(name).collect();
    let more = pids.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("left behind, and background for as long as it lives: {names}{more}; `lull set {front} --release` lets it go")
    })
}

/// More names are not told.
const NAMED: usize = 5;
