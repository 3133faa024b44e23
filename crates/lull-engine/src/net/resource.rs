//! The network as a resource: there from the beginning, or once the job uses it, or never.

use std::os::fd::RawFd;
use std::sync::Arc;

use lull_core::Nanos;
use lull_linux::seccomp::Trap;

use super::waiting_room::wait_for;
use super::when_used::WhenUsed;
use super::{Net, NetAim};
use crate::job_processes::JobProcesses;
use crate::nudge::Nudge;
use crate::report::Report;
use crate::report::status::Status;
use crate::resource::{News, Resource, Verdict};

/// See the module.
pub struct NetResource {
    net: Option<Net>,
    /// How it comes to be there, unless it was there from the beginning.
    when_used: WhenUsed,
    news: Vec<News>,
}

impl NetResource {
    /// The network that is there, or what is wanted of it once the job uses it. The nudge is given when that stands.
    pub fn new(
        net: Option<Net>,
        when_used: Option<NetAim>,
        job_processes: &JobProcesses,
        nudge: &Arc<Nudge>,
    ) -> Self {
        let when_used = when_used.map(|aim| WhenUsed::planned(aim, job_processes, nudge)).unwrap_or_default();
        Self { net, when_used, news: Vec::new() }
    }
}

impl Resource for NetResource {
    fn turn(&mut self, now: Nanos, _was_held: bool) -> Option<Nanos> {
        match self.when_used.outcome() {
            Some(Ok((net, notes))) => {
                self.net = Some(net);
                self.news.extend(notes.into_iter().map(News::Note));
            }
            Some(Err(why)) => self.news.push(News::Note(why)),
            None => {}
        }
        self.net.as_mut().map(|net| net.turn(now))
    }

    fn wants_hold(&self) -> bool {
        self.net.as_ref().is_some_and(Net::wants_hold)
    }

    fn on_call(&mut self, trap: &Trap) -> Option<Verdict> {
        (trap.nr == libc::SYS_socket).then(|| {
            self.when_used.is_used();
            Verdict::Pass
        })
    }

    fn news(&mut self) -> Vec<News> {
        let trouble = self.net.as_mut().and_then(Net::take_trouble);
        self.news.drain(..).chain(trouble.map(News::Told)).collect()
    }

    fn wake_fd(&self) -> RawFd {
        self.net.as_ref().map_or(-1, Net::wake_fd)
    }

    fn drain(&self) {
        self.net.iter().for_each(Net::drain);
    }

    fn status(&self, now: Nanos, status: &mut Status) {
        if let Some(net) = &self.net {
            status.links = net.status(now);
            status.held_for_net = net.wants_hold();
        }
    }

    fn report(&self, _now: Nanos, report: &mut Report) {
        report.net = self.net.as_ref().map(Net::summary);
    }

    fn settle(&mut self) {
        wait_for(&self.net.as_ref().map(Net::empty_rooms).unwrap_or_default());
    }

    fn end(&mut self, _now: Nanos) {
        self.net = None;
    }
}
