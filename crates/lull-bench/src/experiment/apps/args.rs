//! What `lull bench apps` can be asked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use lull_core::Nanos;

use crate::contender::Contender;
use crate::contender::known::APPS;
use crate::experiment::args::{Common, unlearnt};
use crate::units::{Bytes, name, seconds, size};

/// The contenders that are compared unless others are asked for.
pub const DEFAULT_CONTENDERS: [&str; 13] = [
    "again",
    "none",
    "nice",
    "nice+ionice",
    "bfq",
    "idle",
    "cgroup",
    "cgroup-bfq",
    "suspend",
    "headroom",
    "smart",
    "manners",
    "lull",
];

/// A foreground application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum App {
    /// PostgreSQL with pgbench at a rate.
    Postgres,
    /// Redis with GET and SET at a constant rate.
    Redis,
    /// nginx with files at a constant rate.
    Nginx,
    /// A person who edits and compiles.
    Edit,
}

/// A background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AppJob {
    /// `tar | zstd` of a tree.
    Tar,
    /// `rsync` of a tree.
    Rsync,
    /// `find | xargs sha256sum`.
    Checksum,
    /// `make -j2` of a C project.
    Compile,
    /// `bzip2` of a file.
    Bzip2,
    /// Streaming over memory.
    Memory,
    /// Writing through the page cache as fast as the disk takes it.
    Flood,
}

impl AppJob {
    /// Whether it reads files that are not cached.
    pub const fn reads_tree(self) -> bool {
        matches!(self, Self::Tar | Self::Rsync | Self::Checksum)
    }
}

/// What a case is called.
pub fn case_name(app: App, work: AppJob, instances: u32) -> String {
    format!("{}-{}-{instances}", name(&app), name(&work))
}

/// What a run takes beyond its warm-up and its counted time: settling, starting, stopping.
const PAUSE_S: f64 = 1.0;

/// How long it takes, for who leaves it alone meanwhile.
pub const HELP: &str = "\
Time: a run takes --warmup (of those that learn --settle) and --seconds and one second more (PostgreSQL's two more); cases × contenders × rounds of them. Everything at its defaults (56 cases,
15 contenders, 5 rounds, 31 s a run) takes about 36 hours; a night, about 6 hours:
  lull bench apps --instances 2 --seconds 10 --contenders none,nice+ionice,idle,smart,lull
No question is asked and one failure ends nothing. After Ctrl-C, a kill or a reboot the same command goes on where it was; the report of
what there is is written at every end, and by lull bench report DIR at any time.

Exit status: 0 when the measurement is done; 130 after Ctrl-C (128 and the signal's number after SIGTERM and SIGHUP, too): running the
same command again goes on; 1 when nothing could be measured or written; 2 for a wrong option.";

/// Arguments of `lull bench apps`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
#[command(mut_arg("out", |arg| arg.default_value("lull-bench-apps")))]
#[command(mut_arg("seconds", |arg| arg.default_value("20")))]
pub struct AppsArgs {
    /// Directory for the applications' data; on the disk that is to be used. Made if only its last part does
    /// not exist.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Foreground applications, with commas between them.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',',
          default_values = ["postgres", "redis", "nginx", "edit"])]
    pub foreground: Vec<App>,
    /// Background jobs, with commas between them.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',',
          default_values = ["tar", "rsync", "checksum", "compile", "bzip2", "memory", "flood"])]
    pub background: Vec<AppJob>,
    /// How many of the background job run at once, with commas between them; each number is a case.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2, 8],
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub instances: Vec<u32>,
    /// Contenders to compare, with commas between them; alone and solo are always there, as references.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Contender::among(APPS),
          default_values = DEFAULT_CONTENDERS)]
    pub contenders: Vec<Contender>,
    /// Seconds before the counting begins, in runs of contenders that are fixed.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub warmup: f64,
    /// The same for contenders that learn while they run (headroom, smart, manners, lull): longer shows what
    /// they come to. smart characterises the foreground for 12 windows, and the headroom controller adapts
    /// every 5 s.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub settle: f64,
    /// Requests per second of Redis.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub redis_rate: u64,
    /// Let Redis be asked for so long, then not at all for as long, in turn: load that comes and goes, as the
    /// smart paper's figures 6-9 have it.
    #[arg(long, value_name = "TIME")]
    pub redis_waves: Option<Nanos>,
    /// Requests per second of nginx.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub nginx_rate: u64,
    /// Transactions per second of PostgreSQL.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub postgres_rate: u64,
    /// Size of the tree that an instance of tar, rsync or sha256sum reads; each has one of its own.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = size)]
    pub tree_size: Bytes,
    /// smart's monitoring window; the source's is 10s, which takes --settle 120.
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    pub smart_window: Nanos,
    /// Remove the data files at the end; they are kept for the next measurement otherwise.
    #[arg(long)]
    pub clean: bool,
    /// Do not install applications that are missing; leave their cases out.
    #[arg(long)]
    pub no_install: bool,
    /// What every experiment can be asked.
    #[command(flatten)]
    pub common: Common,
}

impl AppsArgs {
    /// All contenders to run, the references first, each once.
    pub fn contenders(&self) -> Vec<Contender> {
        self.common.contenders(self.contenders.iter().cloned(), [])
    }

    /// The jobs beside each application, with their instances, in order.
    pub fn jobs(&self) -> impl Iterator<Item = (AppJob, u32)> {
        self.background.iter().flat_map(|work| self.instances.iter().map(|instances| (*work, *instances)))
    }

    /// The names of all cases, in order.
    pub fn cases(&self) -> Vec<String> {
        let beside = |app: &App| {
            let app = *app;
            self.jobs().map(move |(work, instances)| case_name(app, work, instances))
        };
        self.foreground.iter().flat_map(beside).collect()
    }

    /// Rounds of each case.
    pub fn rounds(&self) -> usize {
        usize::try_from(self.common.rounds).unwrap_or(usize::MAX)
    }

    /// Trees that the jobs read at most, one for each instance; none if no job reads any.
    pub fn trees(&self) -> u32 {
        let most = self.instances.iter().copied().max().unwrap_or(0);
        if self.background.iter().any(|work| work.reads_tree()) { most } else { 0 }
    }

    /// How long a contender's run takes, in seconds.
    pub fn run_s(&self, contender: &Contender) -> f64 {
        self.warmup_s(contender) + self.common.seconds + PAUSE_S
    }

    /// Seconds before a contender's runs are counted.
    pub fn warmup_s(&self, contender: &Contender) -> f64 {
        if contender.learns() { self.settle } else { self.warmup }
    }

    /// What a reader of a contender's runs should know, if the counting begins before it has learnt.
    pub fn unlearnt(&self, contender: &Contender) -> Option<String> {
        unlearnt(self.smart_window, self.settle).filter(|_| *contender == Contender::Policy("smart"))
    }

    /// What makes two measurements comparable, and is not in the records of each run.
    pub fn terms(&self) -> BTreeMap<String, String> {
        let mut terms = self.common.terms();
        for (name, value) in [
            ("warm-up", self.warmup.to_string()),
            ("settle", self.settle.to_string()),
            ("redis rate", self.redis_rate.to_string()),
            ("redis waves", self.redis_waves.map_or_else(|| "none".to_owned(), |half| half.to_string())),
            ("nginx rate", self.nginx_rate.to_string()),
            ("postgres rate", self.postgres_rate.to_string()),
            ("tree per instance", self.tree_size.0.to_string()),
            ("smart window", self.smart_window.to_string()),
        ] {
            terms.insert(name.to_owned(), value);
        }
        terms
    }
}
