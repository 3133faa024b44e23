//! What arrives: one port in a network namespace whose bytes are counted.

use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::socket::{setsockopt, sockopt};

use super::port::{Port, is_pause};
use super::{PATIENCE, Protocol};
use crate::Error;
use crate::error::Context;
use crate::netbed::Namespace;

/// Room for datagrams while the receiving thread does not run.
const BUFFER_BYTES: usize = 8 << 20;
const READ_BYTES: usize = 1 << 17;

/// Receives until it is dropped.
#[derive(Debug)]
pub struct Receiver(Port);

impl Receiver {
    /// Receives at this address, at a port of the kernel's choice; `count` is told the bytes of each read.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the address is not its own.
    pub fn start(
        namespace: &Namespace,
        address: IpAddr,
        protocol: Protocol,
        count: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let any = SocketAddr::new(address, 0);
        if protocol == Protocol::Tcp {
            let serve = move |stream: TcpStream, stop: &AtomicBool| connection(stream, stop, &count);
            return Port::of_connections(namespace, any, serve).map(Self);
        }
        let socket = namespace.inside(|| UdpSocket::bind(any))?.to("receive datagrams")?;
        // Without the right to more, the usual size has to do.
        let _ = setsockopt(&socket.as_fd(), sockopt::RcvBufForce, &BUFFER_BYTES);
        socket.set_read_timeout(Some(PATIENCE)).to("receive datagrams")?;
        let address = socket.local_addr().to("receive datagrams")?;
        Ok(Self(Port::served(address, move |stop| read(|space| socket.recv(space).map(Some), stop, &count))))
    }

    /// Where it receives.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Reads until the flag is up or there is nothing more, which `receive` says by none.
fn read(
    mut receive: impl FnMut(&mut [u8]) -> std::io::Result<Option<usize>>,
    stop: &AtomicBool,
    count: &impl Fn(u64),
) {
    let mut space = vec![0; READ_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match receive(&mut space) {
            Ok(Some(len)) => count(len as u64),
            Err(error) if is_pause(&error) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

fn connection(mut stream: TcpStream, stop: &AtomicBool, count: &impl Fn(u64)) {
    if stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(PATIENCE))).is_ok() {
        read(|space| stream.read(space).map(|len| (len > 0).then_some(len)), stop, count);
    }
}
