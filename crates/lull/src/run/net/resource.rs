//! The network as a resource: there from the beginning, or once the job uses it, or never.

use std::os::fd::RawFd;
use std::sync::Arc;

use lull_core::Nanos;
use lull_linux::seccomp::Trap;

use super::Net;
use super::room::wait_for;
use super::when_used::WhenUsed;
use crate::run::family::Family;
use crate::run::nudge::Nudge;
use crate::run::report::Report;
use crate::run::report::status::Status;
use crate::run::resource::{News, Resource, Verdict};
use crate::run::settings::RunSettings;

/// See the module.
pub(crate) struct NetResource {
    net: Option<Net>,
    /// How it comes to be there, unless it was there from the beginning.
    when_used: WhenUsed,
    news: Vec<News>,
}

impl NetResource {
    /// The network that is there, or a plan for it. The nudge is given when that is carried out.
    pub(crate) fn new(net: Option<Net>, settings: &RunSettings, family: &Family, nudge: &Arc<Nudge>) -> Self {
        Self { net, when_used: WhenUsed::new(settings, family, nudge), news: Vec::new() }
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
