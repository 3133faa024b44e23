//! What `lull bench memory` can be asked.

use std::path::PathBuf;

use crate::contender::Contender;
use crate::contender::known::MEMORY;
use crate::experiment::args::Common;

/// The cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MemoryCase {
    /// Two working sets of 128 MiB in 192 MiB; the foreground has its own when the job starts (the paper's
    /// table 2).
    HostFirst,
    /// The same; the job has its own when the foreground starts.
    GuestFirst,
    /// How long the foreground takes to fill its working set while the job holds dirty memory (the paper's
    /// figure 5).
    PageOut,
    /// Random reads of a cached file set beside a job that streams far more than the memory holds.
    Cache,
    /// Append and fsync, as a database's log, beside a large buffered write.
    Wal,
    /// No foreground: a large write, a large read and a working set, with and without lull.
    Quiet,
}

/// The figures of the Linger paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MemoryFigure {
    /// Tables 2 and 3: when a host and a guest are done that have 128 MiB each on a machine of 192 MiB.
    Tables,
    /// Figure 4: what both have in memory over time, between two thresholds.
    Fig4,
    /// Figure 5: the host's delay over the number of pages that the guest gives at a time.
    Fig5,
}

/// What the figures can be asked.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Figures")]
pub struct FigureArgs {
    /// Measure figures and tables of the Linger paper instead of the cases; all of them unless some are
    /// named.
    #[arg(long, value_name = "FIGURE", value_enum, value_delimiter = ',', num_args = 0..=1,
          default_missing_values = ["tables", "fig4", "fig5"])]
    pub figures: Option<Vec<MemoryFigure>>,
    /// Tables: the host's work, as the seconds that it takes alone.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = positive)]
    pub work: f64,
    /// Give a run up after this many times those seconds.
    #[arg(long, value_name = "N", default_value = "6", value_parser = positive)]
    pub patience: f64,
    /// Figure 4: its length.
    #[arg(long, value_name = "SECONDS", default_value = "24", value_parser = positive)]
    pub span: f64,
    /// Figure 5: batches of the kernel (128 KiB) that the guest gives at a time.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 5, 10, 20, 50, 100],
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub factors: Vec<u64>,
}

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    let fits = value.is_finite() && value > 0.0;
    fits.then_some(value).ok_or_else(|| "it must be more than 0".to_owned())
}

/// Arguments of `lull bench memory`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seconds", |arg| arg.default_value("10")))]
pub struct MemoryArgs {
    /// Directory on the disk to use; data files are made in DIR/lull-bench-data and kept for the next time.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Cases to measure.
    #[arg(long, value_name = "CASE", value_enum, value_delimiter = ',',
          default_values = ["host-first", "guest-first", "page-out", "cache", "wal", "quiet"])]
    pub cases: Vec<MemoryCase>,
    /// Contenders to compare; alone and solo are always there, as references. Each case takes those that have
    /// to do with it.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Contender::among(MEMORY),
          default_values = ["again", "none", "nice+ionice", "bfq", "limit", "nocache", "dirty-bytes", "lull", "lull-now"])]
    pub contenders: Vec<Contender>,
    /// Divide the sizes of files, of the memory that caches them, and the bounds on dirty pages by this: 8
    /// for a quick look. With --figures all sizes.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub scale: u64,
    /// Remove the data files at the end.
    #[arg(long)]
    pub clean: bool,
    /// What the figures can be asked.
    #[command(flatten)]
    pub figures: FigureArgs,
    /// What every experiment can be asked.
    #[command(flatten)]
    pub common: Common,
}

impl MemoryArgs {
    /// All contenders to run, the references first, each once.
    pub fn contenders(&self) -> Vec<Contender> {
        self.common.contenders(self.contenders.iter().cloned(), [])
    }
}
