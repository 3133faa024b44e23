//! The job's memory as a resource: a hold for its sake, and what became of it.

use lull_core::Nanos;

use super::start::MemoryStart;
use crate::report::Report;
use crate::report::status::Status;
use crate::resource::{News, Resource};

/// See the module.
pub struct MemoryResource {
    start: MemoryStart,
    held: bool,
    news: Vec<News>,
}

impl MemoryResource {
    /// Of what has begun, or waits for the job to be large.
    pub fn new(start: MemoryStart) -> Self {
        Self { start, held: false, news: Vec::new() }
    }
}

impl Resource for MemoryResource {
    fn turn(&mut self, now: Nanos, _was_held: bool) -> Option<Nanos> {
        self.news.extend(self.start.finish().map(|why| News::Note(why.to_owned())));
        let until = self.start.exchange().and_then(|exchange| exchange.hold_until(now));
        self.held = until.is_some();
        until
    }

    fn wants_hold(&self) -> bool {
        self.held
    }

    fn news(&mut self) -> Vec<News> {
        let failure = self.start.failure().map(|error| match self.start.was_named() {
            true => News::Unmet(format!("--resources memory: {error}")),
            false => News::Note(error.to_string()),
        });
        self.news.drain(..).chain(failure).collect()
    }

    fn status(&self, _now: Nanos, status: &mut Status) {
        status.memory = self.start.summary().map(|memory| memory.short_text());
    }

    fn report(&self, _now: Nanos, report: &mut Report) {
        report.memory = self.start.summary();
    }

    fn settle(&mut self) {
        self.start.settle();
    }

    fn is_done(&mut self, now: Nanos) -> bool {
        self.start.is_done(now)
    }
}
