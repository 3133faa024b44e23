//! A thread that does something every so often, until it is dropped.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::Error;

/// See the module.
#[derive(Debug)]
pub struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Ticks first when the period is over; an error is told and ends it. `last` is done at the end, whatever
    /// that is.
    pub fn every(
        period: Duration,
        mut tick: impl FnMut() -> Result<(), Error> + Send + 'static,
        last: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = tick() {
                    eprintln!("lull bench: {error}");
                    break;
                }
            }
            last();
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed; what it worked on is put back all the same.
            let _ = thread.join();
        }
    }
}
