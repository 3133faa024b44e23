//! A port in a network namespace that threads serve until it is dropped.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::PATIENCE;
use crate::Error;
use crate::error::Context;
use crate::netbed::Namespace;

/// See the module.
#[derive(Debug)]
pub(super) struct Port {
    /// Where it is.
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Port {
    /// One that `serve` serves until the flag is up.
    pub(super) fn served(address: SocketAddr, serve: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        Self { address, stop, thread: Some(thread::spawn(move || serve(&stopped))) }
    }

    /// One whose connections are served by a thread each.
    pub(super) fn of_connections(
        namespace: &Namespace,
        at: SocketAddr,
        serve: impl Fn(TcpStream, &AtomicBool) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let listener = namespace.inside(|| TcpListener::bind(at))?.to("accept connections")?;
        listener.set_nonblocking(true).to("accept connections")?;
        let address = listener.local_addr().to("accept connections")?;
        Ok(Self::served(address, move |stop| accept(&listener, stop, &serve)))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed.
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, stop: &AtomicBool, serve: &(impl Fn(TcpStream, &AtomicBool) + Sync)) {
    thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    scope.spawn(move || serve(stream, stop));
                }
                Err(error) if is_pause(&error) => thread::sleep(PATIENCE / 20),
                Err(_) => return,
            }
        }
    });
}

/// Whether a call only gave up for now, so that the flag can be looked at.
pub(in crate::load) fn is_pause(error: &std::io::Error) -> bool {
    [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted].contains(&error.kind())
}
