//! A web site whose pages are computed, and clients that keep asking it (Bruno and others, USENIX 1999, 5.1).
//!
//! ```text
//!  N clients: ask, wait, ask again ──▶ site: accept, fork ──▶ child: random numbers, 1 KB of answer, exit
//! ```
//! As a CGI program does, each request runs in a process of its own, so that the scheduler sees as many of a
//! site as it has clients. The clients are a closed loop: throughput and response time say the same thing
//! twice, as in the paper's figures 4 and 5. Requests that are not answered when the counted time ends do not
//! count.
//!
//! HTTP/1.0, one request per connection. The connection waits in the listening socket's queue while the site
//! has no CPU.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, fork};

use crate::error::Context;
use crate::load::latency::Recorder;
use crate::load::{LoadReport, ShiftArgs};
use crate::{Error, clock, stop};

/// Bytes of an answer's body.
const ANSWER_BYTES: usize = 1_000;
/// Longest sleep, after which the stop flag is looked at.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
const REQUEST: &[u8] = b"GET /cgi HTTP/1.0\r\n\r\n";

/// Arguments of `load site-serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct SiteArgs {
    /// Where it listens.
    #[arg(long, value_name = "IP:PORT")]
    pub address: SocketAddr,
    /// Random numbers that are computed for each request.
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    pub work: u64,
}

/// Arguments of `load site-ask`.
#[derive(Clone, Debug, clap::Args)]
pub struct AskSiteArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Where the site listens.
    #[arg(long, value_name = "IP:PORT")]
    pub address: SocketAddr,
    /// Clients, each of which has one request at a time.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub clients: u16,
}

/// Serves until it is killed.
pub fn serve(args: &SiteArgs) -> Result<(), Error> {
    let listener = TcpListener::bind(args.address).to("listen for requests")?;
    // SAFETY: no handler is involved; the kernel then takes care of children that end.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) }.to("ignore the ends of children")?;
    for stream in listener.incoming() {
        // A client that has gone is none.
        let Ok(stream) = stream else { continue };
        // SAFETY: this process has one thread.
        if let ForkResult::Child = unsafe { fork() }.to("start a process for a request")? {
            let status = i32::from(answer(stream, args.work).is_err());
            // SAFETY: ends this process without running what belongs to the parent.
            unsafe { libc::_exit(status) };
        }
    }
    Ok(())
}

/// Reads a request, computes, answers.
fn answer(mut stream: TcpStream, work: u64) -> std::io::Result<()> {
    let mut request = [0; 256];
    let mut length = 0;
    while !request[..length].ends_with(b"\r\n\r\n") {
        match stream.read(&mut request[length..])? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            more => length += more,
        }
    }
    let mut random = fastrand::Rng::with_seed(1);
    let sum = (0..work).fold(0_u64, |sum, _| sum.wrapping_add(random.u64(..)));
    let body = format!("{:>width$}", std::hint::black_box(sum), width = ANSWER_BYTES);
    write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Asks and reports.
pub fn ask(args: &AskSiteArgs) -> Result<LoadReport, Error> {
    let begun = clock::now().plus(args.shift.warmup);
    let end = args.shift.end(begun);
    let answered = Arc::new(Mutex::new(Recorder::new()));
    let failed = Arc::new(Mutex::new(None));
    for _ in 0..args.clients {
        let (answered, failed, address) = (Arc::clone(&answered), Arc::clone(&failed), args.address);
        thread::spawn(move || {
            loop {
                let asked = clock::now();
                if let Err(error) = fetch(address) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
                let now = clock::now();
                if now >= begun {
                    answered.lock().unwrap_or_else(PoisonError::into_inner).record(now.since(asked));
                }
            }
        });
    }
    let mut now = clock::now();
    while !stop::requested() && end.is_none_or(|end| now < end) {
        if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error).to("ask the site");
        }
        let left = end.map_or(LONGEST_SLEEP, |end| Duration::from_nanos(end.since(now).as_nanos()));
        thread::sleep(left.min(LONGEST_SLEEP));
        now = clock::now();
    }
    let answered = answered.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(LoadReport::timed("site-ask", &answered, [begun.min(now), now]))
}

/// One request on a connection of its own; the whole answer.
fn fetch(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(REQUEST)?;
    let mut answer = Vec::with_capacity(2 * ANSWER_BYTES);
    stream.read_to_end(&mut answer)?;
    if answer.len() < ANSWER_BYTES {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}

#[cfg(test)]
mod tests;
