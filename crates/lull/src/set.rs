//! `lull set`: changing a run while it runs.

use std::io::Write;
use std::os::unix::net::UnixStream;

use anyhow::{Context, bail};
use lull_api::Thresholds;
use lull_api::options::without_default;
use lull_core::MemoryThresholds;
use lull_core::base::bytes::Bytes;

use crate::run::adjust::{Answer, PATIENCE, Request, address, is_trusted, read_line};

/// Arguments of `lull set`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").args(["mem_low", "mem_high", "release"]).required(true).multiple(true)))]
#[command(mut_args(without_default))]
pub(crate) struct SetArgs {
    /// The number of the `lull run` process, as the shell's $! gives it.
    #[arg(value_name = "PID")]
    pid: u32,
    #[command(flatten)]
    thresholds: Thresholds,
    /// Let go what the command has left behind when it ended, like a server that it started: it is foreground from then on.
    #[arg(long, conflicts_with_all = ["mem_low", "mem_high"])]
    release: bool,
}

fn shown(setting: MemoryThresholds) -> String {
    format!("mem-low {}, mem-high {}", Bytes(setting.low_bytes), Bytes(setting.high_bytes))
}

/// Asks the run, and says what is in force, or will be.
pub(crate) fn run(args: &SetArgs) -> anyhow::Result<()> {
    let pid = args.pid;
    let mut stream = UnixStream::connect_addr(&address(pid)?)
        .with_context(|| format!("no lull run has the number {pid}; `pgrep -x lull` lists them"))?;
    if !is_trusted(&stream) {
        bail!("whoever answers for process {pid} belongs to another user");
    }
    let request = Request {
        mem_low_bytes: args.thresholds.mem_low.map(|bytes| bytes.0),
        mem_high_bytes: args.thresholds.mem_high.map(|bytes| bytes.0),
        release: args.release,
    };
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    stream.set_read_timeout(Some(PATIENCE))?;
    // One that is refused is answered without being read.
    let _ = stream.write_all(&line);
    let said = read_line(&stream).with_context(|| format!("run {pid} does not answer"))?;
    match serde_json::from_str(&said)
        .with_context(|| format!("run {pid} gives an answer of another version"))?
    {
        Answer::Done(now) => {
            println!("{}", shown(now));
            Ok(())
        }
        Answer::Waits(then, until) => {
            println!("{}; not in force yet: waiting until {until}", shown(then));
            Ok(())
        }
        Answer::Released(count) => {
            println!("{count} let go");
            Ok(())
        }
        Answer::Refused(why) => bail!("run {pid}: {why}"),
    }
}
