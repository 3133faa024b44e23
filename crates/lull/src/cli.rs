//! The command line.

use clap::{Args, Parser, Subcommand};

/// Background work in the gaps that the foreground leaves.
#[derive(Debug, Parser)]
#[command(name = "lull", version, about, propagate_version = true, help_expected = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command as background work in the idle time of disks, CPUs and network.
    Run(Box<crate::run::RunArgs>),
    /// Change a run that runs: what the job keeps of the memory, or what becomes of what it left behind.
    Set(crate::set::SetArgs),
    /// Reserve shares of CPU time, memory and disks, as a tree of files.
    Reserve(crate::reserve::ReserveArgs),
    /// Say what this kernel, this user and each disk support, and what lull will use.
    Doctor(crate::doctor::DoctorArgs),
    /// Measure what background work costs the foreground.
    Bench(BenchArgs),
    /// Show the main job live: a reader beside checksums, a server beside a compile, each alone, niced and under lull.
    Demo(lull_bench::DemoArgs),
    /// Simulate: the paper's figures, policies compared, and scenarios of your own.
    Sim(crate::sim::SimArgs),
    /// Record this machine's disk requests, for lull advise (root).
    Record(crate::record::RecordArgs),
    /// Replay a recorded trace, and recommend an interval and a depth for it.
    Advise(crate::advise::AdviseArgs),
    /// Make a node of an HTCondor pool one whose guests linger beside its owner; show what they do.
    Condor(crate::condor::CondorArgs),
    #[command(hide = true)]
    Generate(crate::generate::GenerateArgs),
    #[command(hide = true, subcommand)]
    Load(lull_bench::LoadCommand),
}

/// Arguments of `lull bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: Bench,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Disk: foreground latency and background work under each contender, interleaved.
    #[command(allow_negative_numbers = true)]
    Disk(Box<lull_bench::DiskArgs>),
    /// CPU: foreground latency and background work under each contender, interleaved.
    #[command(allow_negative_numbers = true)]
    Cpu(Box<lull_bench::CpuArgs>),
    /// Network: foreground transfers and requests, and background traffic, under each contender, interleaved (root).
    #[command(allow_negative_numbers = true)]
    Net(Box<lull_bench::NetArgs>),
    /// Memory: foreground beside jobs that take memory, page cache and write-back, under each contender (root).
    #[command(allow_negative_numbers = true)]
    Memory(Box<lull_bench::MemoryArgs>),
    /// Real applications beside real background jobs, under each contender, interleaved; one HTML report (root).
    #[command(allow_negative_numbers = true)]
    Apps(Box<lull_bench::AppsArgs>),
    /// Compare the records of two measurements of any kind: ratios with their confidence intervals.
    #[command(allow_negative_numbers = true)]
    Compare(lull_bench::CompareArgs),
    /// Make the tables and pictures of an earlier run again.
    #[command(allow_negative_numbers = true)]
    Report(lull_bench::ReportArgs),
}

#[cfg(test)]
mod tests;
