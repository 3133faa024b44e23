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

    /// The reservation of what goes through an interface, like /reserv/eth0/r0. Repeatable, once for each interface.
    ///
    /// It counts for sockets that the command opens, not for those that it inherits.
    #[arg(long, value_name = "PATH")]
    net: Vec<PathBuf>,

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

/// Whether a resource is an interface, which has the kernel's name in the caller's network namespace.
fn is_of_interface(resource: &str) -> bool {
    nix::net::if_::if_nametoindex(resource).is_ok()
}

/// A path, and the option by which it was given.
type Named<'a> = (&'static str, &'a PathBuf);

impl ExecArgs {
    fn named(&self) -> Vec<Named<'_>> {
        let single = [("--cpu", self.cpu.as_slice()), ("--mem", self.mem.as_slice())];
        let repeatable = [
            ("--disk", self.disk.as_slice()),
            ("--net", self.net.as_slice()),
            ("--in", self.others.as_slice()),
        ];
        let all = single.into_iter().chain(repeatable);
        all.flat_map(|(option, paths)| paths.iter().map(move |path| (option, path))).collect()
    }
}

/// A reservation below its mount, like `cpu/r0`, if the option is one of its resource.
fn below((option, path): Named<'_>, point: &Path) -> anyhow::Result<PathBuf> {
    let place = find::place(path);
    let Ok(below) = place.strip_prefix(point) else {
        bail!("{} is not below {}", path.display(), point.display());
    };
    let resource = below.components().next().map(|name| name.as_os_str().to_string_lossy().into_owned());
    let resource = resource.unwrap_or_default();
    let all = point.join(&resource);
    if !all.join("newreserv").exists() {
        bail!("{} is no reservation; `ls {}` lists the resources", path.display(), point.display());
    }
    if !place.is_dir() {
        bail!("{} is no reservation; `ls {}` lists them", path.display(), all.display());
    }
    let fits = match option {
        "--cpu" | "--mem" => option.trim_start_matches('-') == resource,
        "--disk" => is_of_disk(&place, point),
        "--net" => is_of_interface(&resource),
        _ => true,
    };
    if !fits {
        bail!(
            "{option} {}: that is a reservation of {resource}; --in takes one of any resource",
            path.display()
        );
    }
    Ok(below.to_owned())
}

/// Becomes the command.
pub(super) fn exec(args: &ExecArgs) -> anyhow::Result<Infallible> {
    let named = args.named();
    let Some((_, first)) = named.first() else {
        bail!("no reservation is named: --cpu /reserv/cpu/r0, or --mem, --disk, --net, --in");
    };
    let mounted = find::holding(first)?;
    let mut list = String::new();
    for one in &named {
        list += &format!("{} ", below(*one, &mounted.point)?.display());
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
    if named.iter().any(|(_, path)| is_of_disk(&find::place(path), &mounted.point)) {
        return disk::become_gated(&command, &mounted);
    }
    let mask =
        SigSet::empty().thread_swap_mask(SigmaskHow::SIG_BLOCK).context("cannot read the signal mask")?;
    // SAFETY: this process has started no thread.
    let error = unsafe { command.execute(mask.as_ref()) };
    eprintln!("lull: cannot execute {}: {error}", args.command[0].display());
    exit(if error.kind() == std::io::ErrorKind::NotFound { STATUS_NOT_FOUND } else { STATUS_NOT_EXECUTABLE })
}
