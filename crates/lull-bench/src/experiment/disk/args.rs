//! What `lull bench disk` can be asked.

use std::path::PathBuf;

use crate::contender::Contender;
use crate::contender::known::DISK;
use crate::experiment::args::Common;
use crate::units::{Bytes, percent, seconds, size, some_seconds};

/// The cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DiskCase {
    /// 4 threads of 64 KiB random reads in the background.
    Parallel,
    /// libaio, depth 32, 64 KiB random reads in the background.
    Libaio,
    /// Four processes of cksum over cold files of 8 MiB in the background, as in the demo.
    Files,
    /// A dd for each of such files, four at a time, past the page cache.
    Short,
    /// The spinning-disk test device at several foreground intensities (root).
    Slow,
    /// tar of a large tree, cold cache, in the background.
    Sequential,
    /// No foreground: tar, sha256sum, a compile, cached reads and the start-up, with and without lull.
    Quiet,
}

/// Arguments of `lull bench disk`.
#[derive(Clone, Debug, clap::Args)]
pub struct DiskArgs {
    /// Directory on the disk to measure; data files are made in DIR/lull-bench-data and kept for the next
    /// time.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Cases to measure.
    #[arg(long, value_name = "CASE", value_enum, value_delimiter = ',',
          default_values = ["parallel", "libaio", "files", "short", "slow", "sequential", "quiet"])]
    pub cases: Vec<DiskCase>,
    /// Contenders to compare; alone and solo are always there, as references.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Contender::among(DISK),
          default_values = ["none", "nice+ionice", "bfq", "idle", "lull"])]
    pub contenders: Vec<Contender>,
    /// Further lull contenders, one for each pair of these preemption intervals and the --depths: the
    /// frontier.
    #[arg(long, value_name = "TIME", value_delimiter = ',')]
    pub intervals: Vec<String>,
    /// Bounds on background requests in service for --intervals.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values = ["auto"])]
    pub depths: Vec<String>,
    /// Counted seconds per run on the slow disk, where requests take 20 ms.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = some_seconds)]
    pub slow_seconds: f64,
    /// Seconds before each run's counting begins, in which automatic control may settle.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub warmup: f64,
    /// Foreground intensities on the slow disk, in percent.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [10, 25, 50, 75, 100],
          value_parser = percent)]
    pub intensities: Vec<u64>,
    /// Pin the disk's scheduler for all contenders but bfq (root) [default: leave it].
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Size of each of the two data files for random reads, and of the files of 8 MiB together.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size)]
    pub data_size: Bytes,
    /// Size of the tree that tar and sha256sum read.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    pub tree_size: Bytes,
    /// C files in the project that is compiled.
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub compile_units: u32,
    /// Remove the data files at the end.
    #[arg(long)]
    pub clean: bool,
    /// What every experiment can be asked.
    #[command(flatten)]
    pub common: Common,
}

impl DiskArgs {
    /// All contenders to run, the references first, each once.
    pub fn contenders(&self) -> Vec<Contender> {
        let frontier = self.intervals.iter().flat_map(|interval| {
            self.depths.iter().map(move |depth| {
                Contender::Lull(["--interval", interval, "--depth", depth].map(str::to_owned).to_vec())
            })
        });
        self.common.contenders(self.contenders.iter().cloned(), frontier)
    }
}
