//! What arrives: one port in a network namespace whose bytes are counted.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use nix::sys::socket::{setsockopt, sockopt};

use super::{PATIENCE, Protocol};
use crate::Error;
use crate::error::Context;
use crate::netbed::Namespace;

/// Room for datagrams while the receiving thread does not run.
const BUFFER_BYTES: usize = 8 << 20;
const READ_BYTES: usize = 1 << 17;

/// Receives until it is dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

type Count = Arc<dyn Fn(u64) + Send + Sync>;

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
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let count: Count = Arc::new(count);
        let any = SocketAddr::new(address, 0);
        let (address, thread) = match protocol {
            Protocol::Udp => {
                let socket = namespace.inside(|| UdpSocket::bind(any))?.to("receive datagrams")?;
                // Without the right to more, the usual size has to do.
                let _ = setsockopt(&socket.as_fd(), sockopt::RcvBufForce, &BUFFER_BYTES);
                socket.set_read_timeout(Some(PATIENCE)).to("receive datagrams")?;
                let address = socket.local_addr().to("receive datagrams")?;
                (address, thread::spawn(move || datagrams(&socket, &stopped, &count)))
            }
            Protocol::Tcp => {
                let listener = namespace.inside(|| TcpListener::bind(any))?.to("accept connections")?;
                listener.set_nonblocking(true).to("accept connections")?;
                let address = listener.local_addr().to("accept connections")?;
                (address, thread::spawn(move || connections(&listener, &stopped, &count)))
            }
        };
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it receives.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted].contains(&error.kind())
}

fn datagrams(socket: &UdpSocket, stop: &AtomicBool, count: &Count) {
    let mut space = vec![0; READ_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match socket.recv(&mut space) {
            Ok(len) => count(len as u64),
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
    }
}

fn connections(listener: &TcpListener, stop: &AtomicBool, count: &Count) {
    thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    scope.spawn(move || one_connection(stream, stop, count));
                }
                Err(error) if is_pause(&error) => thread::sleep(PATIENCE / 20),
                Err(_) => return,
            }
        }
    });
}

fn one_connection(mut stream: TcpStream, stop: &AtomicBool, count: &Count) {
    if stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(PATIENCE))).is_err() {
        return;
    }
    let mut space = vec![0; READ_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut space) {
            Ok(0) => return,
            Ok(len) => count(len as u64),
            Err(error) if is_pause(&error) => {}
            Err(_) => return,
        }
    }
}
