//! Requests that compute (figures 4 and 5): CGI programs that take the same CPU time each and answer little.
//!
//! ```text
//!   client ─ask─▶ queue of its site ─▶ first in first out, one runs ─▶ answer ─pause─▶ client
//! ```
//! Reserved: a CPU queue per site, MTR-LS between them. Plain: every request is a process of its own, all take turns.
//!
//! Units: nanoseconds of CPU. Numbers of the paper: ten clients; the CPU time of a request is not given, ours is 50 ms.

use std::collections::VecDeque;

use lull_core::proportional::QueueId;
use lull_core::proportional::mtr_ls::MtrLs;
use lull_core::{Nanos, Share};

use super::{Meter, Setup, Site};
use crate::agenda::Agenda;
use crate::span::{Random, Span};

/// CPU time of a request.
const WORK: Span = Span::Between(Nanos::from_millis(45), Nanos::from_millis(55));
/// From an answer to the client's next question.
const PAUSE: Nanos = Nanos::from_millis(1);
/// A round of MTR-LS …
const ROUND: Nanos = Nanos::from_millis(100);
/// … and a turn of the plain system.
const TURN: Nanos = Nanos::from_millis(10);

struct Request {
    client: u32,
    asked: Nanos,
    left: Nanos,
}

/// The CPU's queues.
struct Queues {
    list: MtrLs,
    /// Of each queue, the first one runs.
    waiting: Vec<VecDeque<Request>>,
}

impl Queues {
    fn new(shares: &[Share], round: Nanos) -> Self {
        let mut list = MtrLs::new(round);
        for (at, share) in shares.iter().enumerate() {
            list.set(id(at), *share);
        }
        Self { list, waiting: shares.iter().map(|_| VecDeque::new()).collect() }
    }

    fn arrive(&mut self, queue: usize, request: Request) {
        self.waiting[queue].push_back(request);
        self.list.wake(id(queue));
    }

    /// The first in line runs until `end` at the latest; when that was, and what is done.
    fn run(&mut self, now: Nanos, end: Nanos) -> (Nanos, Option<Request>) {
        let Some((queue, most)) = self.list.next() else { return (end, None) };
        let waiting = &mut self.waiting[queue.0 as usize];
        let Some(first) = waiting.front_mut() else { return (end, None) };
        let span = most.min(first.left).min(end.since(now));
        first.left = first.left.since(span);
        let done = (first.left == Nanos::ZERO).then(|| waiting.pop_front()).flatten();
        if waiting.is_empty() {
            self.list.block(queue);
        }
        self.list.ran(queue, span);
        (now.plus(span), done)
    }
}

fn id(at: usize) -> QueueId {
    QueueId(u32::try_from(at).unwrap_or(u32::MAX))
}

/// One run.
pub fn run(setup: &Setup) -> Site {
    let clients = setup.clients + setup.load;
    let mut queues = match setup.share {
        Some(share) => Queues::new(&[share, setup.other(share)], ROUND),
        // A queue for each process, all alike: a round robin.
        None => {
            let all = vec![Share::ppm(1_000_000 / clients.max(1)); clients as usize];
            Queues::new(&all, TURN.times(u64::from(clients)))
        }
    };
    let mut random = Random::new(setup.seed, 1);
    let mut agenda = Agenda::default();
    for client in 0..clients {
        agenda.add(random.exponential(Nanos::from_millis(50)), client);
    }
    let (mut now, mut meter) = (Nanos::ZERO, Meter::default());
    while now < setup.length {
        while let Some((asked, client)) = agenda.next_before(now.plus(Nanos(1))) {
            let is_other = client >= setup.clients;
            let queue = if setup.share.is_some() { usize::from(is_other) } else { client as usize };
            queues.arrive(queue, Request { client, asked, left: random.draw(WORK) });
        }
        let end = agenda.next_at().unwrap_or(setup.length).min(setup.length);
        let (then, done) = queues.run(now, end);
        now = then;
        if let Some(request) = done {
            if request.client < setup.clients {
                meter.add(setup, now, request.asked, 1.0);
            }
            agenda.add(now.plus(PAUSE), request.client);
        }
    }
    meter.site(setup)
}
