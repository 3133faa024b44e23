//! `net-fetch`: a download without end, as a background.
//!
//! It counts what arrives into the progress file. With a rate it reads no faster, so that the window closes
//! and the other side sends no faster either.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::sys::socket::{setsockopt, sockopt};

use super::port::is_pause;
use super::{ANSWER, LOWER_EFFORT, PATIENCE, STEP};
use crate::Error;
use crate::error::Context;
use crate::load::LoadReport;
use crate::load::tally::Tally;

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
    let mut stream = TcpStream::connect_timeout(&args.from, ANSWER).to("connect to the sender")?;
    stream.set_read_timeout(Some(PATIENCE)).to("prepare a connection")?;
    if args.mark {
        setsockopt(&stream.as_fd(), sockopt::Ipv4Tos, &LOWER_EFFORT).to("mark a socket")?;
    }
    let mut space = vec![0; if args.rate_mbit.is_some() { PACED_READ_BYTES } else { READ_BYTES }];
    let tally = Tally::begin(args.progress.as_deref(), None, None)?;
    while tally.goes_on() {
        match stream.read(&mut space) {
            Ok(0) => break,
            Ok(len) => tally.add(len as u64),
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error).to("receive from the sender"),
        }
        tally.keep_to(args.rate_mbit, STEP);
    }
    Ok(tally.report_with_cpu("net-fetch"))
}
