//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use lull_core::base::bytes::Bytes;
use lull_core::{DepthChoice, IntervalChoice, Loss, Nanos, Share, StartRule, Variant, WindowChoice};
use lull_linux::seccomp::Scope;

use crate::run::hold_choice::HoldChoice;
use crate::run::net::options::NetOptions;
use crate::run::policy::PolicyChoice;
use crate::run::settings::{CleanChoice, Given, LongestHold, ResourceChoice, SensorChoice, StatusChoice};
use crate::run::slo::SloChoice;

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
    Run(Box<RunArgs>),
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

/// Arguments of `lull run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: that of the command; 125 if lull itself failed, 126 if the command cannot be \
executed, 127 if it does not exist.\n\nA configuration file holds the same options in a section [run], without the \
dashes: interval = \"5ms\"."
)]
pub(crate) struct RunArgs {
    /// Who decides when the job is held: idletime (default), smart or manners.
    ///
    /// `idletime` holds single requests, and lends CPUs. `smart` learns when the foreground is busy with the CPUs, in windows of 10s or
    /// of WINDOW, and suspends the job for so long; for the first six windows (a minute by default) it holds the job in any case.
    /// `manners` watches the job's own progress, in samples of 100ms or of SAMPLE, and suspends it, ever longer, when that falls. The last
    /// two hold the whole job for seconds, need nothing but /proc, and take none of the options about resources.
    #[arg(long, value_name = "idletime|smart[:WINDOW]|manners[:SAMPLE]")]
    pub(crate) policy: Option<PolicyChoice>,

    /// Preemption interval: how long a disk or interface stays free after foreground service (default auto).
    ///
    /// `auto` finds it from what is measured; `none` is plain priority; a time like 5ms or 250us is kept, whatever it costs; `inf` lets
    /// no background run after the first foreground request. Longer protects more and gives the background less.
    #[arg(long, value_name = "auto|none|TIME|inf")]
    pub(crate) interval: Option<IntervalChoice>,

    /// Background requests in service at once while the foreground is at work, in place of --window (default auto).
    ///
    /// `auto` leaves that to --window; `none` is no bound. On the network it counts packets in an interface's queue. Fewer protect
    /// more and give the background less.
    #[arg(long, value_name = "auto|none|N")]
    pub(crate) depth: Option<DepthChoice>,

    /// Bytes of background in service on a disk at once while the foreground is at work, like 256KiB (default auto).
    ///
    /// `auto` finds it, and opens it while the foreground is away; `none` is no bound. A larger request goes alone; a small one counts
    /// for 64KiB. Less protects more and gives the background less.
    #[arg(long, value_name = "auto|none|SIZE")]
    pub(crate) window: Option<WindowChoice>,

    /// What starts the preemption interval: the foreground request's completion (default), or the request itself.
    ///
    /// With `request` an interval may be shorter than the request, and protects less.
    #[arg(long, value_name = "completion|request")]
    pub(crate) start: Option<StartRule>,

    /// What follows a background request: while another waits, that one (bb) or an interval (bp); when none waits, idle (bi) or an
    /// interval (bp).
    ///
    /// bb-bi (default) gives the background most; bp-bp protects the foreground most.
    #[arg(long, value_name = "bb-bi|bb-bp|bp-bi|bp-bp")]
    pub(crate) variant: Option<Variant>,

    /// What the foreground may lose at most, of its time (default 5%).
    ///
    /// One promise for the disks and the CPUs together, in any minute, measured while the job runs, by withholding it for short
    /// moments. Less protects more and gives the background less; `0%` gives it nothing beside a foreground at work. Memory and network
    /// are not part of it.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) max_slowdown: Option<Loss>,

    /// What is lent in the gaps only: the disks, the CPUs, the memory with its page cache, the network (default: all).
    ///
    /// What is not named is left to the kernel; the job's idle marks stay in any case. `disk`: its requests wait while the foreground uses
    /// the disk. `cpu`: it has the CPUs that the foreground leaves, but a buffer; without another program at work it costs nothing.
    /// `memory`: it leaves the page cache as it found it, what it writes is written in pieces, and its memory goes first when the
    /// foreground needs some; that begins once the job is a second old and has 32 MiB in memory, or with the job if it is named. `net`: its
    /// sockets are marked Lower Effort, its TCP yields to other traffic, its datagrams wait; that begins with the job's first internet
    /// socket, or before the job if it is named.
    #[arg(long, value_name = "disk,cpu,memory,net", value_enum, value_delimiter = ',')]
    pub(crate) resources: Vec<ResourceChoice>,

    /// Your own measure of the foreground decides about the CPUs: a command that prints a number each second, or `http://… METRIC`.
    ///
    /// A latency, less is better; with `rate:` before it, more is better. By default the lengths of the foreground's bursts decide. Yours
    /// sees what you care about, but takes minutes to be sure, and holds the job for 4s at a time to compare.
    #[arg(long, value_name = "CMD|URL METRIC")]
    pub(crate) slo: Option<SloChoice>,

    /// What lull leaves the job of one CPU at the least, whatever that costs the foreground (default 2%).
    ///
    /// More lets the job get on and costs the foreground more. Where the foreground leaves no CPU, the kernel gives a job of the idle
    /// class next to nothing all the same.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) cpu_floor: Option<Share>,

    /// A delay of one request that nobody minds (default 100us): what takes no longer than that beyond the usual is not late.
    ///
    /// Less protects the longest requests of a fast foreground more, and leaves the job less.
    #[arg(long, value_name = "TIME")]
    pub(crate) max_delay: Option<Nanos>,

    /// How much of what the job reads may stay in the page cache while it runs (default 64MiB or more).
    ///
    /// The default is 64MiB, or a quarter of the memory that nobody uses, even as page cache, up to 1GiB. What the job brings in beyond this
    /// is taken out again, all of it when the job ends; what was there before stays. A job that reads the same data again and again is
    /// faster with more, and others' pages may go for it.
    #[arg(long, value_name = "SIZE")]
    pub(crate) cache_keep: Option<Bytes>,

    /// How much of what the job writes may be dirty, waiting in memory to be written (default 64MiB).
    ///
    /// lull has it written in pieces while the disk is idle; a job that writes faster is held while the foreground uses a disk. More lets
    /// the job write in bursts, and leaves more to write when memory is wanted. `fsync` means what it always does.
    #[arg(long, value_name = "SIZE")]
    pub(crate) dirty: Option<Bytes>,

    /// Memory that the job keeps, whatever the foreground needs, like 200MiB (default 0).
    ///
    /// More keeps the job from being paged out, and is missing when the foreground needs it.
    #[arg(long, value_name = "SIZE")]
    pub(crate) mem_low: Option<Bytes>,

    /// Memory above which the job's pages go first when the foreground needs some (default: that of --mem-low).
    ///
    /// Between the two it is left to the kernel, which takes what has not been used for longest.
    #[arg(long, value_name = "SIZE")]
    pub(crate) mem_high: Option<Bytes>,

    /// Take this much of the job's memory at a time when the foreground needs some (default: what is missing, 6.25 to 64 MiB).
    ///
    /// Small batches let the foreground wait longer for its memory: this is what `lull bench memory --figures fig5` varies.
    #[arg(long, value_name = "SIZE")]
    pub(crate) mem_batch: Option<Bytes>,

    /// Write the job's memory to swap in idle disk time, so that it can go at once when the foreground needs it (default auto).
    ///
    /// The pages stay in memory meanwhile. Only where swap lies on a disk, while less than half of the memory is free, and ever
    /// more rarely for a job that writes to all of its memory all the time. `never` spares the swap's disk the writes.
    #[arg(long, value_name = "auto|never")]
    pub(crate) mem_clean: Option<CleanChoice>,

    /// Count only this as foreground: a process id, a systemd unit, or a v2 control group. Repeatable.
    ///
    /// All else is neither protected nor holds the job back. Without it, everything that is not marked as background is foreground. Needs
    /// the BPF sensor.
    #[arg(long, value_name = "PID|UNIT|CGROUP")]
    pub(crate) protect: Vec<String>,

    /// Which calls are held one by one: large or direct ones (default), all reads and writes, or none.
    ///
    /// `large`: from 64KiB on. `all` is more exact, and slows down programs that make many small calls: each costs 15 us on a small virtual
    /// machine (docs/results/disk.md). `none` traps nothing; the whole job is held for a moment instead, and the network has to be named.
    /// Without disk among the resources no read or write is trapped.
    #[arg(long, value_name = "large|all|none")]
    pub(crate) gate: Option<Scope>,

    /// How the whole job is held: by a quota of CPU time (default), or frozen.
    ///
    /// `quota` leaves it 1ms of CPU time in 100ms and interrupts nothing; it needs a control group with a CPU quota, without which
    /// the job is not held as a whole. `freeze` stops it at once, by its control group or by signals, but its blocking calls end
    /// early: short writes to pipes, EINTR from waits.
    #[arg(long, value_enum)]
    pub(crate) hold: Option<HoldChoice>,

    /// Longest time the whole job may be held at a stretch, or off (as is 0): it never is.
    ///
    /// Default 100ms when it reads around the gate, 1s for other reasons. Longer protects more; the job is late for
    /// everything else that long. With `off` nothing is compared, so what the foreground loses is not known.
    #[arg(long, value_name = "TIME|off")]
    pub(crate) longest_hold: Option<LongestHold>,

    /// Make foreground what CMD leaves behind when it ends, like a server that it started.
    ///
    /// By default it stays background for as long as it lives, since it may be more of the same work.
    #[arg(long)]
    pub(crate) release_leftovers: bool,

    /// Leave io_uring to the job, whose requests are then bounded only by holding the whole job.
    ///
    /// By default `io_uring_setup` fails with ENOSYS, and programs fall back to calls that can be held one by one.
    #[arg(long)]
    pub(crate) io_uring: bool,

    /// Observe only this disk (as in /sys/block), and leave the others to the kernel. Repeatable; default all.
    #[arg(long, value_name = "NAME")]
    pub(crate) disk: Vec<String>,

    #[command(flatten)]
    pub(crate) net: NetOptions,

    /// What observes the disks: BPF block events, or /proc/diskstats (default auto).
    ///
    /// /proc/diskstats needs no rights, works at the scale of milliseconds, and keeps no promise.
    #[arg(long, value_enum)]
    pub(crate) sensor: Option<SensorChoice>,

    /// Whether to tell what the job does while it runs (default auto).
    ///
    /// On a terminal a line on the bottom row does, four times a second. `always` writes a line to stderr every 10s where there is
    /// none, as in a log or under `nohup`. Either wakes lull beside a busy foreground.
    #[arg(long, value_enum)]
    pub(crate) status: Option<StatusChoice>,

    /// Write the summary to this file, which is emptied first, instead of to the terminal.
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,

    /// Write the summary as JSON, times in nanoseconds (to stderr, or to the file of --summary).
    #[arg(long)]
    pub(crate) json: bool,

    /// Say nothing on stderr unless something fails.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Read options from this file (default: $XDG_CONFIG_HOME/lull/lull.toml, then /etc/lull/lull.toml).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// The options that a configuration file may hold too.
    pub(crate) fn given(&self) -> Given {
        Given {
            policy: self.policy,
            interval: self.interval,
            depth: self.depth,
            window: self.window,
            start: self.start,
            variant: self.variant,
            max_slowdown: self.max_slowdown,
            resources: self.resources.clone(),
            slo: self.slo.clone(),
            cpu_floor: self.cpu_floor,
            max_delay: self.max_delay,
            cache_keep: self.cache_keep,
            dirty: self.dirty,
            mem_low: self.mem_low,
            mem_high: self.mem_high,
            mem_batch: self.mem_batch,
            mem_clean: self.mem_clean,
            gate: self.gate,
            hold: self.hold,
            longest_hold: self.longest_hold,
            io_uring: self.io_uring.then_some(true),
            release_leftovers: self.release_leftovers.then_some(true),
            sensor: self.sensor,
            status: self.status,
            protect: self.protect.clone(),
            disks: self.disk.clone(),
            net: self.net.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
