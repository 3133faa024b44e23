//! What is downloaded: a port in a network namespace that sends without end to whoever connects.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::PATIENCE;
use crate::Error;
use crate::error::Context;
use crate::netbed::Namespace;

/// Bytes per write.
const WRITE_BYTES: usize = 1 << 17;

/// Sends until it is dropped.
#[derive(Debug)]
pub struct Sender {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// Sends from this address, from a port of the kernel's choice.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the address is not its own.
    pub fn start(namespace: &Namespace, address: IpAddr) -> Result<Self, Error> {
        let any = SocketAddr::new(address, 0);
        let listener = namespace.inside(|| TcpListener::bind(any))?.to("offer a download")?;
        listener.set_nonblocking(true).to("offer a download")?;
        let address = listener.local_addr().to("offer a download")?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || serve(&listener, &stopped));
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it is to be had.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, stop: &AtomicBool) {
    thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    scope.spawn(move || send(stream, stop));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PATIENCE / 20),
                Err(_) => return,
            }
        }
    });
}

fn send(mut stream: TcpStream, stop: &AtomicBool) {
    if stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(PATIENCE))).is_err() {
        return;
    }
    let data = vec![7; WRITE_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&data) {
            Ok(_) => {}
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(_) => return,
        }
    }
}
