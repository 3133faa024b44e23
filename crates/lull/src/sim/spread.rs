//! The same work on many items, on all CPUs, with the results in the order of the items.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `work` of each item.
pub(super) fn spread<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let run = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { return mine };
                mine.push((index, work(item)));
            }
        };
        let threads: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        for thread in threads {
            match thread.join() {
                Ok(some) => all.extend(some),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
