//! `lull reserve exec`: a command in a reservation.
//!
//! This process asks the mount to move it, then becomes the command: nothing stays between the two, so status, signals and terminal are the
//! command's own.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::exit;

use anyhow::{Context, bail};
use clap::Args;
use lull_linux::job::launch::{Command, STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND};
use nix::sys::signal::{SigSet, SigmaskHow};

use super::find;

mod disk;

/// Arguments of `lull reserve exec`.
#[derive(Debug, Args)]
pub(super) struct ExecArgs {
    /// The reservation of CPU time, like /reserv/cpu/r2, or a queue in it.
    #[arg(long, value_name = "PATH")]
    cpu: Option<PathBuf>,

    /// The reservation of memory.
    #[arg(long, value_name = "PATH")]
    mem: Option<PathBuf>,

    /// The reservation of a disk, like /reserv/vda/r0. Repeatable, once for each disk.
    ///
    /// The command's reads and writes then wait for their turn among those of other reservations (about 10us for each call that is trapped).
    #[arg(long, value_name = "PATH")]
    disk: Vec<PathBuf>,

    /// A reservation of any resource. Repeatable.
    #[arg(long = "in", value_name = "PATH")]
    others: Vec<PathBuf>,

    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Whether a reservation is one of a disk, which has the kernel's name.
fn is_of_disk(path: &Path, point: &Path) -> bool {
    let resource = path.strip_prefix(point).ok().and_then(|below| below.components().next());
    resource.is_some_and(|name| Path::new("/sys/block").join(name).exists())
}

/// Becomes the command.
pub(super) fn exec(args: &ExecArgs) -> anyhow::Result<Infallible> {
    let paths: Vec<&PathBuf> =
        args.cpu.iter().chain(&args.mem).chain(&args.disk).chain(&args.others).collect();
    let Some(first) = paths.first() else {
        bail!("no reservation is named: --cpu /reserv/cpu/r0, or --mem, --disk, --in");
    };
    let mounted = find::holding(first)?;
    let mut list = String::new();
    for path in &paths {
        if !path.starts_with(&mounted.point) {
            bail!("{} is not below {}", path.display(), mounted.point.display());
        }
        if !path.is_dir() {
            bail!(
                "{} is no reservation; `ls {}` lists them",
                path.display(),
                mounted.point.join("cpu").display()
            );
        }
        list += &format!("{} ", path.display());
    }
    let words: Vec<Vec<u8>> = args.command.iter().map(|word| word.clone().into_vec()).collect();
    let command = Command::new(words).context("cannot use the command")?;
    let enter = mounted.point.join("proc/self/enter");
    OpenOptions::new()
        .write(true)
        .open(&enter)
        .and_then(|mut file| file.write_all(list.as_bytes()))
        .with_context(|| {
            format!("cannot enter {}; {} says why", list.trim_end(), mounted.point.join("log").display())
        })?;
    if paths.iter().any(|path| is_of_disk(path, &mounted.point)) {
        return disk::become_gated(&command, &mounted);
    }
    let mask =
        SigSet::empty().thread_swap_mask(SigmaskHow::SIG_BLOCK).context("cannot read the signal mask")?;
    // SAFETY: this process has started no thread.
    let error = unsafe { command.execute(mask.as_ref()) };
    eprintln!("lull: cannot execute {}: {error}", args.command[0].display());
    exit(if error.kind() == std::io::ErrorKind::NotFound { STATUS_NOT_FOUND } else { STATUS_NOT_EXECUTABLE })
}
