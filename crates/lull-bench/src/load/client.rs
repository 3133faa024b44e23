//! An open-loop client of a server: requests at times fixed in advance, over connections that stay open.
//!
//! The usual closed-loop clients send the next request when the last one is answered. A server that stalls
//! for a second is then asked nothing for a second, and the stall is counted once instead of for everyone who
//! would have come (*coordinated omission*). Here the instants are fixed ([`Arrivals`]), at a constant rate
//! or at random; each request goes out on the first idle connection, waits here if there is none, and is
//! measured from the instant at which it should have arrived.
//!
//! ```text
//!  arrivals ──▶ waiting ──▶ idle connection: send ──▶ answer complete: now − arrival ──▶ histogram
//! ```
//! One thread, one poll. Requests that are not answered [`DRAIN`] after the last arrival are given up and
//! counted so. Latencies are those of all arrivals; throughput is what was answered before the counted time
//! ended.
//!
//! | protocol | request |
//! |---|---|
//! | `redis` | GET and SET of random keys in turn, values of 512 bytes (RESP 2) |
//! | `http` | GET of one of the files `/f0`, `/f1`, … with keep-alive (HTTP/1.1) |

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use lull_core::Nanos;
use nix::poll::{PollFd, PollFlags, ppoll};

use crate::error::Context;
use crate::load::arrivals::Arrivals;
use crate::load::latency::Recorder;
use crate::load::serve::DRAIN;
use crate::load::think::Spread;
use crate::load::{LoadReport, ShiftArgs, own_cpu_ns};
use crate::{Error, clock, stop};

mod protocol;

pub use protocol::Protocol;

/// Time for the connections to be made before the first arrival.
const START: Nanos = Nanos::from_millis(50);
/// Longest sleep, after which the stop flag is looked at.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);

/// Arguments of `load app-client`.
#[derive(Clone, Debug, clap::Args)]
pub struct ClientArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// What the server speaks.
    #[arg(long, value_enum)]
    pub protocol: Protocol,
    /// Where it listens.
    #[arg(long, value_name = "IP:PORT")]
    pub address: SocketAddr,
    /// Requests per second.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rate: u64,
    /// Connections that are kept open.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub connections: u16,
    /// How the gaps between requests vary.
    #[arg(long, value_name = "SPREAD", value_enum, default_value_t = Spread::Fixed)]
    pub spread: Spread,
    /// Keys, or files, among which each request chooses one.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub items: u64,
    /// Ask for so long, then not at all for as long, in turn; the rate is that while it asks.
    #[arg(long, value_name = "TIME")]
    pub waves: Option<Nanos>,
    /// Seed of arrivals and choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// One connection; busy while it has an arrival to answer for.
struct Connection {
    stream: TcpStream,
    arrival: Option<Nanos>,
    out: Vec<u8>,
    sent: usize,
    answer: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).to("connect to the server")?;
        stream.set_nodelay(true).to("set TCP_NODELAY")?;
        stream.set_nonblocking(true).to("make a socket non-blocking")?;
        Ok(Self { stream, arrival: None, out: Vec::new(), sent: 0, answer: Vec::new() })
    }

    fn is_sending(&self) -> bool {
        self.sent < self.out.len()
    }

    fn send(&mut self) -> Result<(), Error> {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).to("send a request"),
            }
        }
        Ok(())
    }

    /// Reads what is there; the bytes of the answer once it is complete.
    fn receive(&mut self, protocol: Protocol) -> Result<Option<u64>, Error> {
        let mut chunk = [0; 65_536];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof)).to("read an answer"),
                Ok(count) => self.answer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).to("read an answer"),
            }
        }
        match protocol.answer_length(&self.answer) {
            Ok(Some(length)) if length <= self.answer.len() => {
                self.answer.clear();
                Ok(Some(length as u64))
            }
            Ok(_) => Ok(None),
            Err(problem) => Err(std::io::Error::other(problem)).to("understand an answer"),
        }
    }
}

/// Whether the load is there, if it comes for `half` from `begun` on, goes for as long, and did so before.
fn is_wave(at: Nanos, begun: Nanos, half: Nanos) -> bool {
    let half = i128::from(half.as_nanos().max(1));
    (i128::from(at.as_nanos()) - i128::from(begun.as_nanos())).rem_euclid(2 * half) < half
}

#[derive(Debug, Default)]
struct Counted {
    latencies: Recorder,
    bytes: u64,
    unfinished: u64,
    in_time: u64,
}

/// Asks until stopped.
pub fn run(args: &ClientArgs) -> Result<LoadReport, Error> {
    clock::sharp_timers()?;
    let mut connections: Vec<Connection> =
        (0..args.connections).map(|_| Connection::open(args.address)).collect::<Result<_, _>>()?;
    let start = clock::now().plus(START);
    let begun = start.plus(args.shift.warmup);
    let end = args.shift.end(begun);
    let gap = Nanos(1_000_000_000 / args.rate);
    let asks = |arrival: &Nanos| args.waves.is_none_or(|half| is_wave(*arrival, begun, half));
    let mut arrivals = Arrivals::new([start, begun], gap, args.spread, args.seed).filter(asks).peekable();
    let mut random = fastrand::Rng::with_seed(args.seed);
    let mut waiting = VecDeque::new();
    let mut counted = Counted::default();
    let mut ended = None;
    loop {
        let now = clock::now();
        if ended.is_none() && (stop::requested() || end.is_some_and(|end| now >= end)) {
            ended = Some(end.map_or(now, |end| end.min(now)));
        }
        let last = ended.unwrap_or(now);
        while arrivals.peek().is_some_and(|arrival| *arrival < last) {
            waiting.extend(arrivals.next());
        }
        for connection in connections.iter_mut().filter(|connection| connection.arrival.is_none()) {
            let Some(arrival) = waiting.pop_front() else { break };
            connection.arrival = Some(arrival);
            connection.sent = 0;
            connection.out.clear();
            args.protocol.request(args.items, &mut random, &mut connection.out);
            connection.send()?;
        }
        let busy = connections.iter().filter(|connection| connection.arrival.is_some()).count();
        if let Some(ended) = ended {
            if busy == 0 && waiting.is_empty() {
                break;
            }
            if now >= ended.plus(DRAIN) {
                let late = connections.iter().filter_map(|connection| connection.arrival).chain(waiting);
                for arrival in late.filter(|arrival| *arrival >= begun) {
                    counted.latencies.record(now.since(arrival));
                    counted.unfinished += 1;
                }
                break;
            }
        }
        let next = if ended.is_some() { None } else { arrivals.peek().copied() };
        let until = next.unwrap_or(Nanos::MAX).min(now.plus(LONGEST_SLEEP));
        for index in wait(&connections, until.since(now)) {
            let Some(connection) = connections.get_mut(index) else { continue };
            if connection.is_sending() {
                connection.send()?;
            }
            if let Some(bytes) = connection.receive(args.protocol)?
                && let Some(arrival) = connection.arrival.take()
                && arrival >= begun
            {
                let answered = clock::now();
                counted.latencies.record(answered.since(arrival));
                counted.bytes += bytes;
                // The end is noticed up to a sleep after it has come.
                counted.in_time += u64::from(ended.or(end).is_none_or(|end| answered <= end));
            }
        }
    }
    let ended = ended.unwrap_or(begun).max(begun);
    let load = format!("app-client {}", args.protocol.name());
    Ok(LoadReport {
        unfinished: counted.unfinished,
        in_time: Some(counted.in_time),
        bytes: counted.bytes,
        distribution: counted.latencies.distribution(),
        cpu_ns: own_cpu_ns(),
        ..LoadReport::timed(&load, &counted.latencies, [begun, ended])
    })
}

/// Waits for busy connections; the positions of those that can go on.
fn wait(connections: &[Connection], span: Nanos) -> Vec<usize> {
    let busy = connections.iter().enumerate().filter(|(_, connection)| connection.arrival.is_some());
    let (places, mut polls): (Vec<usize>, Vec<PollFd<'_>>) = busy
        .map(|(place, connection)| {
            let sending = if connection.is_sending() { PollFlags::POLLOUT } else { PollFlags::empty() };
            (place, PollFd::new(connection.stream.as_fd(), PollFlags::POLLIN | sending))
        })
        .unzip();
    // EINTR only means that the caller looks at its stop flag.
    let _ = ppoll(&mut polls, Some(clock::timespec(span)), None);
    let ready = |poll: &PollFd<'_>| poll.any().unwrap_or(false);
    places.into_iter().zip(&polls).filter(|(_, poll)| ready(poll)).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests;
