//! Loads on a network: transfers and requests between two hosts of a test network, and a sender without end.
//!
//! | load | used as | what it does |
//! |---|---|---|
//! | `net-transfer` | foreground | sends over one or more flows at an intensity, counts what arrives |
//! | `net-ask` | foreground | closed loop: asks, waits for the answer, thinks |
//! | `net-flood` | background | sends as fast as it may; what arrives is counted elsewhere ([`receiver`]) |
//! | `net-fetch` | background | receives as fast as it comes from a [`sender`] |
//!
//! A foreground load has both of its ends: threads in two network namespaces, which are given as paths. So it
//! can say what arrived in its window, which is what a user has of a transfer, and not what a socket's buffer
//! took. Beside a transfer, small datagrams can measure the round trip ([`probe`]).
//!
//! *Intensity* is the share of time in which a sender sends, as in the paper: slices of sending with pauses
//! between them. Connections of the foreground have the paper's buffers and the same congestion control
//! everywhere.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lull_core::Nanos;
use nix::sys::socket::{setsockopt, sockopt};

use crate::error::Context;
use crate::load::latency::Recorder;
use crate::load::tally::Tally;
use crate::load::{LoadReport, ShiftArgs, joined, own_cpu_ns};
use crate::netbed::Namespace;
use crate::units::Bytes;
use crate::{Error, clock, stop};

pub mod fetch;
mod port;
pub mod probe;
pub mod receiver;
pub mod sender;

pub(super) use port::is_pause;
use probe::Prober;
pub use receiver::Receiver;
pub use sender::Sender;

/// How long a sender sends without a pause, at less than full intensity: several times what its buffer holds.
const SLICE: Nanos = Nanos::from_millis(50);
/// The send buffer of a foreground connection (the paper, section 4.3): what is in it goes on in the pauses.
const SEND_BUFFER_BYTES: usize = 64 << 10;
/// The congestion control of the foreground, on every machine the same.
const FOREGROUND_CONGESTION: &str = "cubic";
/// What a sender at a fixed rate sends at once, in time.
const STEP: Nanos = Nanos::from_millis(1);
/// No call blocks for longer without a look at the stop flag.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);
/// An answer that has not come by then is taken for lost.
const ANSWER: Duration = Duration::from_secs(5);
/// Time for connections before anything is counted.
const START: Nanos = Nanos::from_millis(50);
/// DSCP 1 (RFC 8622) in the upper six bits of the field.
const LOWER_EFFORT: i32 = 0x04;

/// What carries a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Where a load has its ends.
#[derive(Clone, Debug, clap::Args)]
pub struct EndArgs {
    /// Network namespace of the sender.
    #[arg(long, value_name = "PATH")]
    pub from: PathBuf,
    /// Network namespace of the receiver.
    #[arg(long, value_name = "PATH")]
    pub into: PathBuf,
    /// The receiver's address.
    #[arg(long, value_name = "ADDRESS")]
    pub to: IpAddr,
}

/// Arguments of `load net-transfer`.
#[derive(Clone, Debug, clap::Args)]
pub struct TransferArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// From where to where.
    #[command(flatten)]
    pub ends: EndArgs,
    /// TCP or UDP.
    #[arg(long, value_enum)]
    pub protocol: Protocol,
    /// Sockets.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub flows: u32,
    /// Bytes per write.
    #[arg(long, value_name = "SIZE", default_value = "1400B")]
    pub size: Bytes,
    /// Share of time in which it sends.
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub intensity: u64,
    /// Time between two datagrams that measure the round trip beside it [default: none].
    #[arg(long, value_name = "TIME")]
    pub probe: Option<Nanos>,
}

/// Arguments of `load net-ask`.
#[derive(Clone, Debug, clap::Args)]
pub struct AskArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Who asks whom.
    #[command(flatten)]
    pub ends: EndArgs,
    /// Bytes of a question and of an answer.
    #[arg(long, value_name = "SIZE", default_value = "200B")]
    pub size: Bytes,
    /// Time from an answer to the next question.
    #[arg(long, value_name = "TIME", default_value = "3ms")]
    pub think: Nanos,
}

/// Arguments of `load net-flood`.
#[derive(Clone, Debug, clap::Args)]
pub struct FloodArgs {
    /// Address and port of the receiver.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub to: SocketAddr,
    /// TCP or UDP.
    #[arg(long, value_enum)]
    pub protocol: Protocol,
    /// Bytes per write.
    #[arg(long, value_name = "SIZE", default_value = "1400B")]
    pub size: Bytes,
    /// Mark its packets DSCP Lower Effort.
    #[arg(long)]
    pub mark: bool,
    /// Use this TCP congestion control of the kernel.
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Send no more than this many megabits per second.
    #[arg(long, value_name = "N")]
    pub rate_mbit: Option<u32>,
    /// Print JSON lines instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// One socket that is written to.
enum Flow {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Flow {
    /// From the calling thread's namespace.
    fn open(protocol: Protocol, to: SocketAddr) -> std::io::Result<Self> {
        match protocol {
            Protocol::Tcp => {
                let stream = TcpStream::connect_timeout(&to, ANSWER)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Self::Tcp(stream))
            }
            Protocol::Udp => {
                let own: SocketAddr = match to {
                    SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
                    SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
                };
                let socket = UdpSocket::bind(own)?;
                socket.set_write_timeout(Some(PATIENCE))?;
                socket.connect(to)?;
                Ok(Self::Udp(socket))
            }
        }
    }

    /// Makes a connection that of a foreground.
    fn prepare(&self) -> nix::Result<()> {
        let Self::Tcp(stream) = self else { return Ok(()) };
        // The kernel doubles it for its own bookkeeping.
        setsockopt(&stream.as_fd(), sockopt::SndBuf, &SEND_BUFFER_BYTES)?;
        setsockopt(&stream.as_fd(), sockopt::TcpCongestion, &FOREGROUND_CONGESTION.to_owned().into())
    }

    fn mark(&self) -> nix::Result<()> {
        match self {
            Self::Tcp(stream) => setsockopt(&stream.as_fd(), sockopt::Ipv4Tos, &LOWER_EFFORT),
            Self::Udp(socket) => setsockopt(&socket.as_fd(), sockopt::Ipv4Tos, &LOWER_EFFORT),
        }
    }

    /// One write; how much was taken. A full buffer and a receiver that is not there yet take nothing.
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        use std::io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
        let written = match self {
            Self::Tcp(stream) => stream.write(data),
            Self::Udp(socket) => socket.send(data),
        };
        match written {
            Err(error) if [ConnectionRefused, Interrupted, TimedOut, WouldBlock].contains(&error.kind()) => {
                Ok(0)
            }
            other => other,
        }
    }
}

/// Sends until stopped or until `end`, with pauses that make the intensity.
fn send(flow: &mut Flow, size: usize, intensity: u64, end: Nanos) -> std::io::Result<()> {
    let data = vec![7; size];
    let pause = Nanos(SLICE.0 * (100 - intensity) / intensity.max(1));
    while !stop::requested() {
        let started = clock::now();
        if started >= end {
            break;
        }
        let until =
            if pause == Nanos::ZERO { started.plus(Nanos::from_secs(1)) } else { started.plus(SLICE) };
        while clock::now() < until && !stop::requested() {
            flow.write(&data)?;
        }
        if pause > Nanos::ZERO {
            clock::sleep_until(clock::now().plus(pause));
        }
    }
    Ok(())
}

/// `load net-transfer`.
pub(super) fn transfer(args: &TransferArgs) -> Result<LoadReport, Error> {
    clock::sharp_timers()?;
    let (from, into) = (Namespace::open(&args.ends.from)?, Namespace::open(&args.ends.into)?);
    let arrived = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&arrived);
    let receiver = Receiver::start(&into, args.ends.to, args.protocol, move |bytes| {
        counted.fetch_add(bytes, Ordering::Relaxed);
    })?;
    let flows: std::io::Result<Vec<Flow>> = (0..args.flows)
        .map(|_| {
            let flow = from.inside(|| Flow::open(args.protocol, receiver.address()));
            let flow = flow.map_err(std::io::Error::other)??;
            flow.prepare()?;
            Ok(flow)
        })
        .collect();
    let prober = args.probe.map(|every| Prober::open(&from, &into, args.ends.to, every)).transpose()?;
    let begun = clock::now().plus(START).plus(args.shift.warmup);
    let end = args.shift.end(begun).unwrap_or(Nanos::MAX);
    let size = args.size.as_usize();
    thread::scope(|scope| {
        let senders: Vec<_> = flows
            .to("open a flow to the receiver")?
            .into_iter()
            .map(|mut flow| scope.spawn(move || send(&mut flow, size, args.intensity, end)))
            .collect();
        let probing = prober.as_ref().map(|prober| scope.spawn(move || prober.run([begun, end])));
        let (started, before) = (clock::wait_until(begun), arrived.load(Ordering::Relaxed));
        let (ended, after) = (clock::wait_until(end), arrived.load(Ordering::Relaxed));
        for sender in senders {
            joined(sender.join()).to("send to the receiver")?;
        }
        let probe = probing.map(|probing| joined(probing.join()));
        let bytes = after - before;
        Ok(LoadReport {
            requests: bytes / args.size.0.max(1),
            bytes,
            probe: probe.map(Box::new),
            cpu_ns: own_cpu_ns(),
            ..LoadReport::between("net-transfer", [started, ended])
        })
    })
}

/// `load net-ask`.
pub(super) fn ask(args: &AskArgs) -> Result<LoadReport, Error> {
    clock::sharp_timers()?;
    let (from, into) = (Namespace::open(&args.ends.from)?, Namespace::open(&args.ends.into)?);
    let listener = into.inside(|| TcpListener::bind(SocketAddr::new(args.ends.to, 0)))?;
    let listener = listener.to("listen for questions")?;
    let to = listener.local_addr().to("listen for questions")?;
    let size = args.size.as_usize();
    let answering = thread::spawn(move || answer(&listener, size));
    let stream = from.inside(|| TcpStream::connect_timeout(&to, ANSWER))?;
    let mut stream = stream.to("connect to the one who answers")?;
    for set in [stream.set_nodelay(true), stream.set_read_timeout(Some(ANSWER))] {
        set.to("prepare a connection")?;
    }
    let mut data = vec![7; size];
    let begun = clock::now().plus(args.shift.warmup);
    let end = args.shift.end(begun).unwrap_or(Nanos::MAX);
    let mut latencies = Recorder::new();
    let ended = loop {
        let asked = clock::now();
        if asked >= end || stop::requested() {
            break asked;
        }
        stream.write_all(&data).and_then(|()| stream.read_exact(&mut data)).to("ask and be answered")?;
        let answered = clock::now();
        if asked >= begun {
            latencies.record(answered.since(asked));
        }
        clock::sleep_until(answered.plus(args.think));
    };
    drop(stream);
    joined(answering.join()).to("answer questions")?;
    let begun = begun.min(ended);
    Ok(LoadReport {
        bytes: latencies.count() * args.size.0,
        cpu_ns: own_cpu_ns(),
        ..LoadReport::timed("net-ask", &latencies, [begun, ended])
    })
}

/// Answers the questions of one connection until it is closed.
fn answer(listener: &TcpListener, size: usize) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut data = vec![0; size];
    loop {
        match stream.read_exact(&mut data) {
            Ok(()) => stream.write_all(&data)?,
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// `load net-flood`.
pub(super) fn flood(args: &FloodArgs) -> Result<LoadReport, Error> {
    let mut flow = Flow::open(args.protocol, args.to).to("open a flow to the receiver")?;
    if args.mark {
        flow.mark().to("mark a socket")?;
    }
    if let (Flow::Tcp(stream), Some(name)) = (&flow, &args.congestion) {
        setsockopt(&stream.as_fd(), sockopt::TcpCongestion, &name.into()).to("set the congestion control")?;
    }
    let data = vec![7; args.size.as_usize()];
    let tally = Tally::begin(None, None, None)?;
    while tally.goes_on() {
        tally.add(flow.write(&data).to("send to the receiver")? as u64);
        tally.keep_to(args.rate_mbit, STEP);
    }
    Ok(tally.report_with_cpu("net-flood"))
}
