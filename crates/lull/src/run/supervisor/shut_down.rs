//! The end of a run: everything goes back to what it was.

use lull_core::Nanos;
use lull_linux::clock;
use lull_linux::marks::IoClass;

use super::running::{Ending, Running};
use crate::run::net::queues::release as release_queues;
use crate::run::release;
use lull_engine::lock::lock;
use lull_engine::memory::leftover::Leftover;

/// How long an answer to `lull set` may take to be written before this process ends.
const GOODBYE: std::time::Duration = std::time::Duration::from_millis(100);

/// Lets the job go.
pub(crate) fn shut_down(running: Running, ending: Ending) {
    let Running { settings, engine, hold, job_processes, plain, io_class, queues, times, .. } = running;
    let now: Nanos = clock::now();
    let ours = || [job_processes.pids(), vec![std::process::id().cast_signed()]].concat();
    let pids = job_processes.pids();
    lock(&engine).end(now);
    io_class.change(ours, IoClass::Idle);
    match ending {
        Ending::Over => {
            release_queues(&queues);
            hold.finish(&Leftover { aim: settings.memory, born: times.born });
        }
        Ending::LetGo(wish) => {
            let count = release::let_go(&pids, hold.give_up(), plain);
            if let Some(wish) = wish {
                // Whoever asked may have gone.
                let _ = wish.send(count);
                // The answer goes by another thread, which ends with this one.
                std::thread::sleep(GOODBYE);
            }
            release_queues(&queues);
        }
    }
    lock(&engine).forget();
}
