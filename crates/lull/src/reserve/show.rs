//! `lull reserve show`: the domain of a process.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use super::find;

/// Arguments of `lull reserve show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The process.
    #[arg(value_name = "PID")]
    pid: u32,

    /// The mount to ask (default: the only one).
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
}

/// Prints both domains.
pub(super) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let mounted = find::one(args.mount.as_deref(), "--mount DIR")?;
    let process = mounted.point.join("proc").join(args.pid.to_string());
    if !process.is_dir() {
        bail!("there is no process {}", args.pid);
    }
    for name in ["rdom", "crdom"] {
        let path = process.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        println!("{name:5} {}", text.trim_end());
    }
    Ok(())
}
