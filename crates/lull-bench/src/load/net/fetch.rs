//! `net-fetch`: a download without end, as a background.
//!
//! It counts what arrives into the progress file. With a rate it reads no faster, so that the window closes and the other
//! side sends no faster either.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;

use lull_core::Nanos;
use nix::sys::socket::{setsockopt, sockopt};

use super::{ANSWER, LOWER_EFFORT, PATIENCE, STEP};
use crate::error::Context;
use crate::load::{LoadReport, own_cpu_ns};
use crate::progress::Progress;
use crate::{Error, clock, stop};

const READ_BYTES: usize = 1 << 17;
/// What is read at once at a fixed rate: a few packets.
const PACED_READ_BYTES: usize = 1 << 13;

/// Arguments of `load net-fetch`.
#[derive(Clone, Debug, clap::Args)]
pub struct FetchArgs {
    /// Address and port of the one who sends.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub from: SocketAddr,
    /// Mark its packets (acknowledgements) DSCP Lower Effort.
    #[arg(long)]
    pub mark: bool,
    /// Read no more than this many megabits per second.
    #[arg(long, value_name = "N")]
    pub rate_mbit: Option<u32>,
    /// Count bytes into this mapped file as they arrive.
    #[arg(long, value_name = "FILE")]
    pub progress: Option<PathBuf>,
    /// Print JSON lines instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// `load net-fetch`.
pub(in crate::load) fn fetch(args: &FetchArgs) -> Result<LoadReport, Error> {
    let progress = args.progress.as_deref().map(Progress::open).transpose()?;
    let mut stream = TcpStream::connect_timeout(&args.from, ANSWER).to("connect to the sender")?;
    stream.set_read_timeout(Some(PATIENCE)).to("prepare a connection")?;
    if args.mark {
        setsockopt(&stream.as_fd(), sockopt::Ipv4Tos, &LOWER_EFFORT).to("mark a socket")?;
    }
    let mut space = vec![0; if args.rate_mbit.is_some() { PACED_READ_BYTES } else { READ_BYTES }];
    let started = clock::now();
    let (mut received, mut reads) = (0, 0);
    while !stop::requested() {
        match stream.read(&mut space) {
            Ok(0) => break,
            Ok(len) => {
                received += len as u64;
                reads += 1;
                if let Some(progress) = &progress {
                    progress.add(len as u64);
                }
            }
            Err(error)
                if [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted]
                    .contains(&error.kind()) => {}
            Err(error) => return Err(error).to("receive from the sender"),
        }
        if let Some(rate) = args.rate_mbit {
            // Megabits per second are bits per microsecond.
            let due = started.plus(Nanos(received * 8_000 / u64::from(rate.max(1))));
            if due > clock::now().plus(STEP) {
                clock::sleep_until(due);
            }
        }
    }
    let ended = clock::now();
    Ok(LoadReport {
        load: "net-fetch".to_owned(),
        requests: reads,
        bytes: received,
        started_ns: started.as_nanos(),
        ended_ns: ended.as_nanos(),
        seconds: ended.since(started).as_secs_f64(),
        cpu_ns: own_cpu_ns(),
        ..LoadReport::default()
    })
}
