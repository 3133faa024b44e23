//! The request gate's threads: one receives the job's trapped calls, another decides about them.
//!
//! Problem: until a trapped call is *received*, a signal ends it (EINTR without SA_RESTART), though natively a read or write of a
//! file is never ended by one. A receiver that decides itself, or waits for the engine's lock, leaves the next call unreceived meanwhile.
//!
//! Approach: the receiver takes no lock. While every disk admits without a bound it answers at once; else it lists the call, hands it
//! over and receives the next one.
//!
//! ```text
//!   receiver ─ receive ─ is it open? ─ yes ─▶ continue
//!                             │ no
//!                             └─▶ list, queue ─▶ decider ─▶ Engine::on_trap ─▶ continue, or it waits
//! ```
//!
//! What is open is kept in `Open`, which a foreground request closes by itself.
//!
//! Edge cases: the moment between the call and its wait, about 1.5 µs here, is the kernel's and stays. A call that finds no place in the list
//! passes. The fallback sensor has no record to compare with: with it the engine is always asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lull_linux::clock;
use lull_linux::job::shared::Shared;
use lull_linux::marks::run_promptly;
use lull_linux::seccomp::listener::Received;
use lull_linux::seccomp::{Listener, Trap};

use crate::engine::Engine;
use crate::lock::lock;
use crate::nudge::Nudge;
use crate::open::Open;
use crate::resource::Verdict;
use crate::thread;

/// Nobody waits longer for what is told. Sensors that are still being loaded come first.
const TOLD_WITHIN: Duration = Duration::from_secs(1);

/// What both threads have.
#[derive(Clone)]
struct Gate {
    listener: Arc<Listener>,
    shared: Arc<Shared>,
    engine: Arc<Mutex<Engine>>,
    open: Arc<Open>,
    nudge: Arc<Nudge>,
    /// Set when no task is left under the filter.
    gone: Arc<AtomicBool>,
}

/// Answers the job's trapped calls until the job is gone, which is told by `gone`; false where the user may have no more threads.
pub fn serve(
    engine: &Arc<Mutex<Engine>>,
    listener: &Arc<Listener>,
    shared: &Arc<Shared>,
    nudge: &Arc<Nudge>,
    gone: &Arc<AtomicBool>,
) -> bool {
    lock(engine).disks.set_listener(Arc::clone(listener));
    let open = lock(engine).disks.open();
    let (listener, shared, engine) = (Arc::clone(listener), Arc::clone(shared), Arc::clone(engine));
    let (nudge, gone) = (Arc::clone(nudge), Arc::clone(gone));
    Gate { listener, shared, engine, open, nudge, gone }.start()
}

impl Gate {
    /// Receives until the job is gone; false where the user may have no more threads.
    fn start(self) -> bool {
        let (sender, calls) = channel();
        let decider = self.clone();
        thread::start(move || decider.decide(&calls)) && thread::start(move || self.receive(&sender))
    }

    fn receive(&self, calls: &Sender<Trap>) {
        run_promptly();
        loop {
            // SAFETY: this thread alone receives.
            match unsafe { self.listener.receive(self.shared.space()) } {
                Ok(Received::Call(trap)) => self.take(trap, calls),
                Ok(Received::Nothing) => {}
                Ok(Received::JobGone) | Err(_) => break,
            }
        }
        self.gone.store(true, Ordering::SeqCst);
        self.nudge.give();
    }

    fn take(&self, trap: Trap, calls: &Sender<Trap>) {
        if trap.uses_a_disk() && self.open.is_open() {
            self.listener.pass(trap.id);
            self.open.count_one();
        } else if !self.shared.list(trap.id) || calls.send(trap).is_err() {
            self.answer(trap.id);
        }
    }

    fn answer(&self, id: u64) {
        self.listener.pass(id);
        self.shared.unlist(id);
    }

    /// What is in the job's way is told before the call goes on: a program that cannot go on without it ends at once.
    fn have_told(&self) {
        let begun = Instant::now();
        while lock(&self.engine).has_words() && begun.elapsed() < TOLD_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn decide(&self, calls: &Receiver<Trap>) {
        for trap in calls {
            let verdict = lock(&self.engine).on_trap(clock::now(), &trap);
            match verdict {
                Verdict::Pass => {
                    if !trap.uses_a_disk() {
                        self.nudge.give();
                        self.have_told();
                    }
                    self.answer(trap.id);
                }
                Verdict::Absent => {
                    self.nudge.give();
                    self.have_told();
                    self.listener.refuse(trap.id, libc::ENOSYS);
                    self.shared.unlist(trap.id);
                }
                Verdict::Wait => self.nudge.give(),
            }
        }
    }
}

#[cfg(test)]
mod tests;
