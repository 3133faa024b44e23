//! Delay without netem: a thread between two TUN devices that holds every packet for a fixed time.
//!
//! ```text
//!   left's TUN ──read at t──▶ queue ──at t + delay, write──▶ right's TUN      and the other way round
//! ```
//! Packets of one direction keep their order. A TUN device hands over a packet as soon as the queueing
//! discipline above lets it go, so the rate is the shaper's and the queue stays where it belongs. A packet
//! that the other device does not take (its queue is full, it is down) is lost, as on a wire.
//!
//! Edge cases: a thread that is not scheduled in time delivers late, and then several packets at once.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use lull_core::Nanos;
use lull_linux::tun::{self, Layer};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Namespace;
use crate::error::Context;
use crate::{Error, clock};

/// Largest packet, with room.
const PACKET_BYTES: usize = 2048;
/// Packets read in one go, so that neither direction starves the other.
const READ_AT_ONCE: usize = 64;

/// The running thread; it ends, and with it the devices, when this is dropped.
#[derive(Debug)]
pub struct Relay {
    stop: Arc<EventFd>,
    failed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A TUN device of this name in `namespace`, gone when its descriptor is closed.
fn device(namespace: &Namespace, name: &str) -> Result<File, Error> {
    let made = namespace.inside(|| tun::open(name, Layer::Packets))?;
    made.map(|(device, _)| device).to("make a TUN device (/dev/net/tun)")
}

impl Relay {
    /// Makes a device `name` in both namespaces and carries packets between them.
    ///
    /// # Errors
    /// When a device cannot be made.
    pub fn start(left: &Namespace, right: &Namespace, name: &str, delay: Nanos) -> Result<Self, Error> {
        let ends = [device(left, name)?, device(right, name)?];
        let stop = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC).to("make an event descriptor")?);
        let failed = Arc::new(AtomicBool::new(false));
        let (stopped, has_failed) = (Arc::clone(&stop), Arc::clone(&failed));
        let thread = std::thread::Builder::new().name("net-delay".to_owned()).spawn(move || {
            // With the usual slack a packet is 50 us late, no more.
            let _ = clock::sharp_timers();
            if carry(ends, &stopped, delay).is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
        });
        Ok(Self { stop, failed, thread: Some(thread.to("start the delaying thread")?) })
    }

    /// Whether it still carries packets.
    pub fn is_up(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The counter is fresh, so that it takes a one.
        let _ = self.stop.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One direction.
#[derive(Default)]
struct Pipe {
    waiting: VecDeque<(Nanos, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl Pipe {
    /// Takes what `from` has, to be delivered `delay` after `now`.
    fn take(&mut self, from: &mut File, due: Nanos) -> io::Result<()> {
        for _ in 0..READ_AT_ONCE {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(PACKET_BYTES, 0);
            match from.read(&mut packet) {
                Ok(len) => {
                    packet.truncate(len);
                    self.waiting.push_back((due, packet));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.spare.push(packet);
                    break;
                }
                // The device is down: nothing to carry, and poll says so no more than this.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Delivers what is due.
    fn give(&mut self, to: &mut File, now: Nanos) {
        while self.waiting.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, packet)) = self.waiting.pop_front() else { return };
            // What is not taken is lost.
            let _ = to.write(&packet);
            self.spare.push(packet);
        }
    }

    fn next(&self) -> Option<Nanos> {
        self.waiting.front().map(|(due, _)| *due)
    }
}

fn carry(mut ends: [File; 2], stop: &EventFd, delay: Nanos) -> io::Result<()> {
    let mut pipes = [Pipe::default(), Pipe::default()];
    loop {
        let next = pipes.iter().filter_map(Pipe::next).min();
        let timeout = next.map(|at| clock::timespec(at.since(clock::now())));
        let all = [ends[0].as_fd(), ends[1].as_fd(), stop.as_fd()];
        let mut polls = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // EINTR only means that the packets are looked at early.
        let _ = ppoll(&mut polls, timeout, None);
        let [left, right, stopped] = polls.map(|poll| poll.any().unwrap_or(true));
        if stopped {
            return Ok(());
        }
        let now = clock::now();
        for (side, is_ready) in [left, right].into_iter().enumerate() {
            if is_ready {
                pipes[side].take(&mut ends[side], now.plus(delay))?;
            }
            pipes[side].give(&mut ends[1 - side], now);
        }
    }
}
