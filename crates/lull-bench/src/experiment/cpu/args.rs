//! What `lull bench cpu` can be asked.

use lull_core::Nanos;

use crate::contender::Contender;
use crate::contender::known::CPU;
use crate::experiment::args::{Common, unlearnt};
use crate::load::think::Spread;
use crate::units::{Bytes, seconds, size, whole};

/// The cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CpuCase {
    /// Open-loop request server at half of one CPU beside memory-streaming hogs.
    #[value(name = "serve-50")]
    Serve50,
    /// The same, while lull may cost 20%.
    #[value(name = "serve-50-at-20")]
    Serve50At20,
    /// The server at a tenth of one CPU.
    #[value(name = "serve-10")]
    Serve10,
    /// The server at four fifths of one CPU.
    #[value(name = "serve-80")]
    Serve80,
    /// Wake-up latency beside twice as many memory-streaming hogs.
    Wakeup,
    /// The server at half of one CPU beside hogs that compute in registers.
    Integer,
    /// A foreground that never sleeps, beside memory-streaming hogs.
    Spin,
}

/// Shorter requests are over before a hog is noticed.
const SHORTEST_SERVICE: Nanos = Nanos::from_micros(10);

fn service(text: &str) -> Result<Nanos, String> {
    let service: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if service < SHORTEST_SERVICE {
        return Err(format!("is too short for a request; write {SHORTEST_SERVICE} or more"));
    }
    Ok(service)
}

/// Arguments of `lull bench cpu`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seconds", |arg| arg.default_value("8")))]
pub struct CpuArgs {
    /// Cases to measure.
    #[arg(long, value_name = "CASE", value_enum, value_delimiter = ',',
          default_values = ["serve-50", "serve-50-at-20", "serve-10", "serve-80", "wakeup", "integer"])]
    pub cases: Vec<CpuCase>,
    /// Contenders to compare; alone and solo are always there, as references.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Contender::among(CPU),
          default_values = ["none", "nice", "sched-idle", "cpu.idle", "headroom", "cpulimit", "smart", "lull"])]
    pub contenders: Vec<Contender>,
    /// What lull may cost the foreground, for all cases that do not say it themselves [default: lull's own].
    #[arg(long, value_name = "PERCENT")]
    pub max_slowdown: Option<String>,
    /// Seconds before the counting begins, in runs of contenders that are fixed.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    pub warmup: f64,
    /// The same for contenders that learn while they run (headroom, smart, lull): shorter shows what they do
    /// at first, longer what they come to.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub settle: f64,
    /// The background runs and pauses in turns of this length, in random order, so that each run is compared
    /// with itself; 0 to let it run all the time and compare with the run of `alone`.
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    pub beat: Nanos,
    /// Hogs in the background; the wake-up case has twice as many.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=2048))]
    pub hogs: u64,
    /// Memory that each memory hog streams over.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub hog_memory: Bytes,
    /// Processor time of a request when nothing disturbs it.
    #[arg(long, value_name = "TIME", default_value = "800us", value_parser = service)]
    pub service: Nanos,
    /// Memory that the requests read.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size)]
    pub buffer: Bytes,
    /// Random reads per request [default: as many as take the time of --service before the first run].
    #[arg(long, value_name = "N")]
    pub reads: Option<u64>,
    /// How the gaps between requests vary; exponential gaps make Poisson arrivals.
    #[arg(long, value_name = "SPREAD", value_enum, default_value_t = Spread::Exponential)]
    pub spread: Spread,
    /// Time between two wake-ups in the wake-up case.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub wakeup_interval: Nanos,
    /// Threads of the foreground that never sleeps.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub spinners: u64,
    /// Share of all CPUs that the headroom controller leaves free, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=100))]
    pub headroom: u64,
    /// Time between two adaptations of the headroom controller; --settle should be longer.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub headroom_period: Nanos,
    /// smart's monitoring window [default: 500ms; less, down to 200ms, if it has not learnt with that before
    /// the counting begins].
    #[arg(long, value_name = "TIME")]
    pub smart_window: Option<Nanos>,
    /// What every experiment can be asked.
    #[command(flatten)]
    pub common: Common,
}

/// Of the time to settle, one of smart's windows: twelve to learn in, and the rest for programs that are slow
/// to start.
const WINDOWS_PER_SETTLE: f64 = 15.0;
/// The window where there is time enough.
const USUAL_WINDOW: Nanos = Nanos::from_millis(500);
/// The shortest window that `lull run --policy smart` takes.
const LEAST_WINDOW: Nanos = Nanos::from_millis(200);

impl CpuArgs {
    /// smart's monitoring window.
    pub fn smart_window(&self) -> Nanos {
        let part = || Nanos::from_millis(whole(self.settle * 1e3 / WINDOWS_PER_SETTLE));
        self.smart_window.unwrap_or_else(|| part().clamp(LEAST_WINDOW, USUAL_WINDOW))
    }

    /// What a reader of smart's runs should know, if the counting begins before it has learnt.
    pub fn unlearnt(&self) -> Option<String> {
        unlearnt(self.smart_window(), self.settle)
    }

    /// All contenders to run, the references first, each once.
    pub fn contenders(&self) -> Vec<Contender> {
        self.common.contenders(self.contenders.iter().cloned(), [])
    }

    /// Seconds before a contender's runs are counted.
    pub(super) fn warmup_s(&self, contender: &Contender) -> f64 {
        if contender.learns() { self.settle } else { self.warmup }
    }
}
