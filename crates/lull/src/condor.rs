//! HTCondor: a node whose guests linger beside its owner.
//!
//! ```text
//!  lull condor install ──▶ 90-lull.conf in HTCondor's local config directory, and a job wrapper beside that directory
//!                               │                                 │
//!     startd cron               ▼                                 ▼
//!  lull condor publish ──▶ slot's ad: LullOwnerActive, …    lull condor guest CMD ──▶ lull run CMD
//!                               │
//!     startd evaluates          ▼
//!  START SUSPEND CONTINUE PREEMPT ◀── rendered from lull-core's linger::classad
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`config`] | what is written, as text |
//! | [`install`] | writing it, and taking it away |
//! | [`publish`], [`places`] | what a node tells of itself; where a guest that wants to move could go |
//! | [`status`] | the pool, for people |
//! | [`ask`] | HTCondor's own tools, and ClassAd values |
//!
//! Its master also runs `lull condor below`, as root: in the idle class guests are below what is in their control group only.
//!
//! Nothing of HTCondor is linked: its tools and its configuration are its interface. All that another batch system would need too is in
//! [`guests`](crate::guests).
//!
//! Source: HTCondor Manual, *Policy Configuration for Execute Points*, *Startd Cron*, *Configuration Macros* (`USER_JOB_WRAPPER`).

mod ask;
mod config;
pub(crate) mod install;
mod places;
mod publish;
mod status;

use clap::{Args, Subcommand};
use lull_linux::sense::tenants::Daemons;

/// HTCondor's daemons: the master starts the startd, that one starts a starter for each guest.
pub(crate) const DAEMONS: Daemons = Daemons { master: "condor_master", starter: "condor_starter" };

/// Arguments of `lull condor`.
#[derive(Debug, Args)]
pub(crate) struct CondorArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Let guests linger on this node: write a file into HTCondor's local config directory, and have it read (root).
    Install(Box<install::InstallArgs>),
    /// Take away what install wrote, and have HTCondor read its configuration again (root).
    Uninstall(install::UninstallArgs),
    /// Show the pool: owners, guests, the share that they get, what they cost, whether they linger or move, and why.
    Status(status::StatusArgs),
    /// Publish what this node's owner uses, and what guests get and cost, as ClassAds: HTCondor's startd runs it.
    Publish(publish::PublishArgs),
    /// Keep guests below everybody on the CPUs, whatever control groups they are in: HTCondor's master runs it, as root.
    Below,
    /// Run a guest under lull run, or at low priority alone where lull cannot: HTCondor's starter runs it.
    Guest(Box<crate::run::RunArgs>),
}

pub(crate) fn run(args: CondorArgs) -> anyhow::Result<()> {
    match args.what {
        What::Install(args) => install::install(&args),
        What::Uninstall(args) => install::uninstall(&args),
        What::Status(args) => status::run(&args),
        What::Publish(args) => publish::run(&args),
        What::Below => crate::guests::below::run(DAEMONS),
        What::Guest(args) => crate::guests::start::start(&args),
    }
}
