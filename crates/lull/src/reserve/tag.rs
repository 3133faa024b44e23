//! `lull reserve tag`: the queue of one descriptor.
//!
//! The same as writing to `proc/PID/fd/N` in the mount, which any program can do; here a refusal comes with its reason.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::find;
use super::state::DEFAULT;

/// Arguments of `lull reserve tag`.
#[derive(Debug, Args)]
pub(super) struct TagArgs {
    /// The process.
    #[arg(value_name = "PID")]
    pid: u32,

    /// Its descriptor, as in /proc/PID/fd.
    #[arg(value_name = "FD")]
    fd: u32,

    /// A queue of the disk that the file is on, or of an interface for a socket, like /reserv/vda/r0/q1; 'default' for that of its
    /// process again.
    #[arg(value_name = "QUEUE")]
    queue: PathBuf,

    /// The mount to tell, with 'default' (default: the only one).
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
}

/// The last line of the log that says why this process was refused.
fn why(point: &Path) -> Option<String> {
    let log = std::fs::read_to_string(point.join("log")).ok()?;
    let mine = format!(" process {}: ", std::process::id());
    let line = log.lines().rev().find(|line| line.contains(&mine))?;
    // Behind what was written, which is between quotation marks.
    line.rsplit_once("': ").map(|(_, why)| why.to_owned())
}

/// Switches it.
pub(super) fn run(args: &TagArgs) -> anyhow::Result<()> {
    let is_default = args.queue == Path::new(DEFAULT);
    let mounted = if is_default {
        find::one(args.mount.as_deref(), "--mount DIR")?
    } else {
        find::holding(&args.queue)?
    };
    let file = mounted.point.join(format!("proc/{}/fd/{}", args.pid, args.fd));
    if !file.exists() {
        bail!("process {} has no descriptor {}, or its descriptors cannot be seen", args.pid, args.fd);
    }
    let text = if is_default { PathBuf::from(DEFAULT) } else { find::place(&args.queue) };
    let written = OpenOptions::new()
        .write(true)
        .open(&file)
        .and_then(|mut file| file.write_all(text.as_os_str().as_encoded_bytes()));
    if let Err(error) = written {
        let what = format!("descriptor {} of process {} keeps its queue", args.fd, args.pid);
        return Err(match why(&mounted.point) {
            Some(why) => anyhow::anyhow!("{what}: {why}"),
            None => anyhow::Error::new(error).context(what),
        });
    }
    let target = std::fs::read_link(format!("/proc/{}/fd/{}", args.pid, args.fd))
        .context("cannot look at the descriptor")?;
    if target.to_string_lossy().starts_with("socket:") {
        println!(
            "the kernel tells packets by their socket, not by the descriptor: all that share it use this queue now"
        );
    }
    Ok(())
}
