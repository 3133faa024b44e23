//! The table of options: a field is a row.
//!
//! | part of a row | where it stands |
//! |---|---|
//! | name, on the command line and in the file | the field's, with dashes |
//! | effect | the first paragraph of its comment |
//! | default | `default_value`; one that is worked out: `[default: …]` at the end of the first paragraph |
//! | what else there is to know | the paragraphs in between |
//! | trade-off | the last paragraph, which begins with `Trade-off:` |
//! | unit | `value_name`, or the names of the type's values |
//! | what is accepted | the field's type |
//!
//! To add an option, add its field: it is read as `settings.asked.GROUP.FIELD`. `UPDATE=1 cargo test -p lull-api` writes the tables of
//! docs/run.md anew. A test holds each row against this description.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args};
use lull_bpf::{PacketMark, PortRange};
use lull_core::base::bytes::Bytes;
use lull_core::{
    DepthChoice, IntervalChoice, Loss, MemoryThresholds, Nanos, Share, StartRule, Variant, WindowChoice,
};
use lull_linux::seccomp::Scope;

use crate::choice::qdisc::DEFAULT_ROUTE;
use crate::{
    CleanChoice, HoldChoice, LongestHold, PolicyChoice, QdiscChoice, ResourceChoice, SensorChoice, SloChoice,
    StatusChoice,
};

/// The heading of [`Memory`].
pub const MEMORY: &str = "Memory";
/// The heading of [`Network`].
pub const NETWORK: &str = "Network";
/// The heading of [`Telling`] and [`ThisRun`].
const TELLING: &str = "What it says";

/// `--net-answer` without a value: sockets of all programs.
pub const EVERYBODY: &str = "all";

/// Those that every policy takes; the others mean something to `idletime` alone. Another policy gives the job io_uring anyway.
pub(crate) const OF_ANY_POLICY: [&str; 5] = ["policy", "protect", "hold", "io-uring", "status"];

/// All that a run may be told, by the command line or by the configuration file.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What is protected, and how much.
    #[command(flatten)]
    pub protection: Protection,
    /// How the disks are lent.
    #[command(flatten)]
    pub disks: Disks,
    /// The job as a whole.
    #[command(flatten)]
    pub holding: Holding,
    /// What it has of the memory.
    #[command(flatten)]
    pub memory: Memory,
    /// What else is background on the network.
    #[command(flatten)]
    pub network: Network,
    /// What is told.
    #[command(flatten)]
    pub telling: Telling,
}

/// What is protected, and how much.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to protect, and how much")]
pub struct Protection {
    /// What the foreground may lose at most, of its time.
    ///
    /// One promise for the disks and the CPUs together, in any minute, measured while the job runs, by withholding it for short
    /// moments. Memory and network are not part of it.
    ///
    /// Trade-off: less protects more and gives the background less; `0%` gives it nothing beside a foreground at work.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub max_slowdown: Loss,

    /// A delay of one request that nobody minds.
    ///
    /// A request is late when it takes half longer than its usual 99th percentile, and longer by this.
    ///
    /// Trade-off: less protects the longest requests of a fast foreground more, and leaves the job less.
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub max_delay: Nanos,

    /// Count only this as foreground: a process id, a systemd unit, or a v2 control group. Repeatable. [default:
    /// everything that is not marked as background]
    ///
    /// Needs the BPF sensor.
    ///
    /// Trade-off: all else is neither protected nor holds the job back.
    #[arg(long, value_name = "PID|UNIT|CGROUP")]
    pub protect: Vec<String>,

    /// Your own measure of the foreground decides about the CPUs: a command that prints a number each second, or `http://… METRIC`.
    /// [default: the lengths of the foreground's bursts]
    ///
    /// A latency, less is better; with `rate:` before it, more is better.
    ///
    /// Trade-off: yours sees what you care about, but takes minutes to be sure, and holds the job for 4s at a time to compare.
    #[arg(long, value_name = "CMD|URL METRIC")]
    pub slo: Option<SloChoice>,

    /// What lull leaves the job of one CPU at the least, whatever that costs the foreground.
    ///
    /// Where the foreground leaves no CPU, the kernel gives a job of the idle class next to nothing all the same.
    ///
    /// Trade-off: more lets the job get on and costs the foreground more.
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    pub cpu_floor: Share,

    /// What is lent in the gaps only: the disks, the CPUs, the memory with its page cache, the network. [default: all]
    ///
    /// `disk`: its requests wait while the foreground uses the disk. `cpu`: it has the CPUs that the foreground leaves, but a buffer;
    /// without another program at work it costs nothing. `memory`: it leaves the page cache as it found it, what it writes is written in
    /// pieces, and its memory goes first when the foreground needs some; that begins once the job is a second old and has 32 MiB in memory,
    /// or with the job if it is named. `net`: its sockets are marked Lower Effort, its TCP yields to other traffic, its datagrams wait;
    /// that begins with the job's first internet socket, or before the job if it is named.
    ///
    /// Trade-off: what is not named is left to the kernel; the job's idle marks stay in any case.
    #[arg(long, value_name = "disk,cpu,memory,net", value_enum, value_delimiter = ',')]
    pub resources: Vec<ResourceChoice>,

    /// Who decides when the job is held: idletime, smart or manners.
    ///
    /// `idletime` holds single requests, and lends CPUs. `smart` learns when the foreground is busy with the CPUs, in windows of 10s or
    /// of WINDOW, and suspends the job for so long; for the first six windows (a minute by default) it holds the job in any case.
    /// `manners` watches the job's own progress, in samples of 100ms or of SAMPLE, and suspends it, ever longer, when that falls.
    ///
    /// Trade-off: smart and manners need nothing but /proc, hold the whole job for seconds, and take none of the options about
    /// resources.
    #[arg(long, value_name = "idletime|smart[:WINDOW]|manners[:SAMPLE]", default_value = "idletime")]
    pub policy: PolicyChoice,
}

/// How the disks are lent.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Disks")]
pub struct Disks {
    /// Preemption interval: how long a disk or interface stays free after foreground service.
    ///
    /// `auto` finds it from what is measured; `none` is plain priority; a time like 5ms or 250us is kept, whatever it costs; `inf` lets
    /// no background run after the first foreground request.
    ///
    /// Trade-off: longer protects more and gives the background less.
    #[arg(long, value_name = "auto|none|TIME|inf", default_value = "auto")]
    pub interval: IntervalChoice,

    /// Bytes of background in service on a disk at once while the foreground is at work, like 256KiB.
    ///
    /// `auto` finds it, and opens it while the foreground is away; `none` is no bound. A larger request goes alone; a small one counts
    /// for 64KiB.
    ///
    /// Trade-off: less protects more and gives the background less.
    #[arg(long, value_name = "auto|none|SIZE", default_value = "auto")]
    pub window: WindowChoice,

    /// Background requests in service at once while the foreground is at work, in place of --window.
    ///
    /// `auto` leaves that to --window; `none` is no bound. On the network it counts packets in an interface's queue.
    ///
    /// Trade-off: fewer protect more and give the background less.
    #[arg(long, value_name = "auto|none|N", default_value = "auto")]
    pub depth: DepthChoice,

    /// What starts the preemption interval: the foreground request's completion, or the request itself.
    ///
    /// Trade-off: with `request` an interval may be shorter than the request, and protects less.
    #[arg(long, value_name = "completion|request", default_value = "completion")]
    pub start: StartRule,

    /// What follows a background request: while another waits, that one (bb) or an interval (bp); when none waits, idle (bi) or an
    /// interval (bp).
    ///
    /// Trade-off: bb-bi gives the background most; bp-bp protects the foreground most.
    #[arg(long, value_name = "bb-bi|bb-bp|bp-bi|bp-bp", default_value = "bb-bi")]
    pub variant: Variant,

    /// Which calls are held one by one: large or direct ones, all reads and writes, or none.
    ///
    /// `large`: from 64KiB on. `none` traps nothing; the whole job is held for a moment instead, and the network has to be named.
    /// Without disk among the resources no read or write is trapped.
    ///
    /// Trade-off: `all` is more exact, and slows down programs that make many small calls: each costs 15 us on a small virtual machine
    /// (docs/results/disk.md).
    #[arg(long, value_name = "large|all|none", default_value = "large")]
    pub gate: Scope,

    /// Leave io_uring to the job. [default: only without disk among the resources]
    ///
    /// Otherwise `io_uring_setup` fails with ENOSYS, and programs fall back to calls that can be held one by one.
    ///
    /// Trade-off: requests through it are bounded only by holding the whole job.
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub io_uring: Option<bool>,

    /// Observe only this disk (as in /sys/block). Repeatable. [default: all]
    ///
    /// Trade-off: the others are left to the kernel.
    #[arg(long, value_name = "NAME")]
    pub disk: Vec<String>,

    /// What observes the disks: BPF block events, or /proc/diskstats.
    ///
    /// Trade-off: /proc/diskstats needs no rights, works at the scale of milliseconds, and keeps no promise.
    #[arg(long, value_enum, default_value = "auto")]
    pub sensor: SensorChoice,
}

/// How the job is held as a whole, and what it leaves behind.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The whole job")]
pub struct Holding {
    /// How the whole job is held: by a quota of CPU time, or frozen.
    ///
    /// `quota` leaves it 1ms of CPU time in 100ms and interrupts nothing; it needs a control group with a CPU quota, without which
    /// the job is not held as a whole.
    ///
    /// Trade-off: `freeze` stops it at once, by its control group or by signals, but its blocking calls end early: short writes to
    /// pipes, EINTR from waits.
    #[arg(long, value_enum, default_value = "quota")]
    pub hold: HoldChoice,

    /// Longest time the whole job may be held at a stretch, or off (as is 0): it never is. [default: 100ms when it reads around the
    /// gate, 1s for other reasons]
    ///
    /// With `off` nothing is compared, so what the foreground loses is not known.
    ///
    /// Trade-off: longer protects more; the job is late for everything else that long.
    #[arg(long, value_name = "TIME|off")]
    pub longest_hold: Option<LongestHold>,

    /// Make foreground what CMD leaves behind when it ends, like a server that it started.
    ///
    /// By default it stays background for as long as it lives, since it may be more of the same work.
    ///
    /// Trade-off: where CMD forks and goes on with its work, that is foreground, too.
    #[arg(long)]
    pub release_leftovers: bool,
}

/// What the job has of the memory.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = MEMORY)]
pub struct Memory {
    /// How much of what the job reads may stay in the page cache while it runs. [default: 64MiB, or a quarter of the memory that
    /// nobody uses, even as page cache, up to 1GiB]
    ///
    /// What the job brings in beyond this is taken out again, all of it when the job ends; what was there before stays.
    ///
    /// Trade-off: a job that reads the same data again and again is faster with more, and others' pages may go for it.
    #[arg(long, value_name = "SIZE")]
    pub cache_keep: Option<Bytes>,

    /// How much of what the job writes may be dirty, waiting in memory to be written.
    ///
    /// lull has it written in pieces while the disk is idle; a job that writes faster is held while the foreground uses a disk.
    /// `fsync` means what it always does.
    ///
    /// Trade-off: more lets the job write in bursts, and leaves more to write when memory is wanted.
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub dirty: Bytes,

    /// What the job keeps.
    #[command(flatten)]
    pub thresholds: Thresholds,

    /// Take this much of the job's memory at a time when the foreground needs some. [default: what is missing, 6.25 to 64 MiB]
    ///
    /// This is what `lull bench memory --figures fig5` varies.
    ///
    /// Trade-off: small batches let the foreground wait longer for its memory.
    #[arg(long, value_name = "SIZE")]
    pub mem_batch: Option<Bytes>,

    /// Write the job's memory to swap in idle disk time, so that it can go at once when the foreground needs it.
    ///
    /// The pages stay in memory meanwhile. Only where swap lies on a disk, while less than half of the memory is free, and ever
    /// more rarely for a job that writes to all of its memory all the time.
    ///
    /// Trade-off: `never` spares the swap's disk the writes; the foreground waits for them when it needs the memory.
    #[arg(long, value_enum, value_name = "auto|never", default_value = "auto")]
    pub mem_clean: CleanChoice,
}

/// What the job keeps of the memory. `lull set` changes it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Thresholds {
    /// Memory that the job keeps, whatever the foreground needs, like 200MiB. [default: 0]
    ///
    /// Trade-off: more keeps the job from being paged out, and is missing when the foreground needs it.
    #[arg(long, value_name = "SIZE")]
    pub mem_low: Option<Bytes>,

    /// Memory above which the job's pages go first when the foreground needs some. [default: that of --mem-low]
    ///
    /// Between the two it is left to the kernel, which takes what has not been used for longest.
    ///
    /// Trade-off: more lets the job keep what it has, and the foreground waits longer for memory.
    #[arg(long, value_name = "SIZE")]
    pub mem_high: Option<Bytes>,
}

/// What else is background on the network, and whose queue may be arranged.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = NETWORK)]
pub struct Network {
    /// Packets from or to these ports are background too, whichever program sends them. [default: none]
    ///
    /// They are marked Lower Effort when they leave; new TCP connections of this host yield as the job's do, datagrams wait. Needs
    /// `net` among --resources, if those are given, as the next three. For example 6881-6889,873.
    ///
    /// Trade-off: a foreground program that uses such a port is held back, too.
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',')]
    pub net_ports: Vec<PortRange>,

    /// Packets from this local address are background too, whichever program sends them. [default: none]
    ///
    /// Trade-off: everybody who sends from it is held back.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub net_address: Vec<IpAddr>,

    /// Packets that carry this mark (netfilter's, SO_MARK) are background too; with a mask, these bits of it. [default: none]
    ///
    /// Trade-off: everybody who sets it is held back.
    #[arg(long, value_name = "MARK[/MASK]", value_delimiter = ',')]
    pub net_mark: Vec<PacketMark>,

    /// A socket to which a packet marked Lower Effort came answers as background, until another packet comes. [default: none does]
    ///
    /// Of all programs of this host, or of those in a systemd unit or a v2 control group. For the other end of a job: run it
    /// where the server is.
    ///
    /// Trade-off: whoever asks with that mark is answered last.
    #[arg(long, value_name = "UNIT|CGROUP", num_args = 0..=1, require_equals = true, default_missing_value = EVERYBODY)]
    pub net_answer: Option<String>,

    /// Arrange the queue of this interface in two classes while the job runs: what is marked Lower Effort goes last. Repeatable.
    /// [default: none]
    ///
    /// For everybody who sends there (HTB; root). Without a name: of the interfaces of the default routes. With a RATE, as 90mbit,
    /// just below that of the link behind the interface, the queue is here and not there. An interface that somebody has arranged already is
    /// refused, as is a rate other than that of a run which has arranged it. Undone when the job has ended.
    ///
    /// Trade-off: with a RATE, the interface has no more for everybody meanwhile.
    #[arg(
        long,
        value_name = "INTERFACE[:RATE]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_ROUTE,
        value_delimiter = ',',
        action = ArgAction::Append
    )]
    pub qdisc: Vec<QdiscChoice>,
}

/// What is told while the job runs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = TELLING)]
pub struct Telling {
    /// Whether to tell what the job does while it runs.
    ///
    /// On a terminal a line on the bottom row does, four times a second. `always` writes a line to stderr every 10s where there is
    /// none, as in a log or under `nohup`.
    ///
    /// Trade-off: either wakes lull beside a busy foreground.
    #[arg(long, value_enum, default_value = "auto")]
    pub status: StatusChoice,
}

/// What concerns a single run: the command line alone says it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = TELLING)]
pub struct ThisRun {
    /// Write the summary to this file, which is emptied first, instead of to the terminal.
    ///
    /// With FILE /dev/stdout it comes after what the job wrote.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// Write the summary as JSON, times in nanoseconds (to stderr, or to the file of --summary).
    #[arg(long)]
    pub json: bool,

    /// Say nothing on stderr unless something fails.
    #[arg(long, short)]
    pub quiet: bool,

    /// Read options from this file. [default: $XDG_CONFIG_HOME/lull/lull.toml, then /etc/lull/lull.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The effect in the first paragraph of a row, and the default that it states.
pub(crate) fn parted(text: &str) -> (&str, Option<&str>) {
    let parts = text.strip_suffix(']').and_then(|text| text.rsplit_once(" [default: "));
    parts.map_or((text, None), |(text, default)| (text, Some(default)))
}

/// An option's effect without its default, for a command that changes a run which has one.
pub fn without_default(option: Arg) -> Arg {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    option.long_help(None).help(parted(&help).0.trim_end_matches('.').to_owned())
}

impl Thresholds {
    /// Both, in bytes. A high one that is not named is the low one.
    ///
    /// # Errors
    /// When the low one is above the high one.
    pub fn setting(self) -> Result<MemoryThresholds, LowAboveHigh> {
        let low = self.mem_low.unwrap_or_default();
        let high = self.mem_high.unwrap_or(low);
        if low > high {
            Err(LowAboveHigh { low, high })
        } else {
            Ok(MemoryThresholds { low_bytes: low.0, high_bytes: high.0 })
        }
    }
}

/// Thresholds that make no sense together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--mem-low {low} is above --mem-high {high}")]
pub struct LowAboveHigh {
    low: Bytes,
    high: Bytes,
}
