//! What is downloaded: a port in a network namespace that sends without end to whoever connects.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use super::PATIENCE;
use super::port::{Port, is_pause};
use crate::Error;
use crate::netbed::Namespace;

/// Bytes per write.
const WRITE_BYTES: usize = 1 << 17;

/// Sends until it is dropped.
#[derive(Debug)]
pub struct Sender(Port);

impl Sender {
    /// Sends from this address, from a port of the kernel's choice.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the address is not its own.
    pub fn start(namespace: &Namespace, address: IpAddr) -> Result<Self, Error> {
        Port::of_connections(namespace, SocketAddr::new(address, 0), send).map(Self)
    }

    /// Where it is to be had.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

fn send(mut stream: TcpStream, stop: &AtomicBool) {
    if stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(PATIENCE))).is_err() {
        return;
    }
    let data = vec![7; WRITE_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&data) {
            Ok(_) => {}
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
    }
}
