//! What `lull bench net` can be asked.

use clap::builder::ArgPredicate;
use lull_core::{Interval, IntervalChoice, Nanos};

use crate::contender::Contender;
use crate::contender::known::NET;
use crate::experiment::args::Common;
use crate::units::{percent, seconds};

/// The cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NetCase {
    /// Datagrams beside datagrams, 1 Gb/s (the paper's figure 9).
    UdpUdp,
    /// Three connections beside datagrams, 1 Gb/s (figure 11).
    TcpUdp,
    /// The same at 100 Mb/s with 10 ms each way (figure 12).
    TcpUdpFar,
    /// A connection beside an upload, 100 Mb/s.
    TcpTcp,
    /// Questions and answers beside an upload, 100 Mb/s.
    Ask,
    /// A connection that sends beside a download, 100 Mb/s.
    TcpDown,
    /// Questions and answers beside a download, 100 Mb/s.
    AskDown,
    /// Redis on the job's host beside rsync to the other one, 100 Mb/s.
    NetRedis,
    /// A web server on the job's host beside rsync to the other one, 100 Mb/s.
    NetNginx,
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PaperFigure {
    /// Datagrams beside datagrams, 1 Gb/s.
    #[value(name = "9", alias = "fig9")]
    Nine,
    /// Three connections beside datagrams, 1 Gb/s.
    #[value(name = "11", alias = "fig11")]
    Eleven,
    /// The same at 100 Mb/s with 10 ms each way.
    #[value(name = "12", alias = "fig12")]
    Twelve,
}

impl PaperFigure {
    /// The case whose intensities and intervals make it.
    const fn case(self) -> NetCase {
        match self {
            Self::Nine => NetCase::UdpUdp,
            Self::Eleven => NetCase::TcpUdp,
            Self::Twelve => NetCase::TcpUdpFar,
        }
    }
}

/// What a sweep over a figure is, where nothing else is said: about 20 minutes for three figures.
mod sweep {
    pub(super) const INTENSITIES: &str = "10,25,50,75,90";
    pub(super) const INTERVALS: &str = "0,250us,1ms,5ms,20ms,40ms,auto";
    pub(super) const CONTENDERS: &str = "none";
    pub(super) const ROUNDS: &str = "2";
    pub(super) const SECONDS: &str = "2";
    pub(super) const WARMUP: &str = "1";
}

/// Arguments of `lull bench net`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("rounds", |arg| arg.default_value_if("figure", ArgPredicate::IsPresent, sweep::ROUNDS)))]
#[command(mut_arg("seconds", |arg| arg.default_value_if("figure", ArgPredicate::IsPresent, sweep::SECONDS)))]
pub struct NetArgs {
    /// Cases to measure.
    #[arg(long, value_name = "CASE", value_enum, value_delimiter = ',', conflicts_with = "figure",
          default_values = ["udp-udp", "tcp-udp", "tcp-udp-far", "tcp-tcp", "ask", "tcp-down", "ask-down", "net-redis", "net-nginx"])]
    pub cases: Vec<NetCase>,
    /// Sweep over intensities and intervals for these figures of the paper, all three if none is named
    /// [default then: --intensity 10,25,50,75,90 --intervals 0,250us,1ms,5ms,20ms,40ms,auto --contenders none
    /// --rounds 2 --seconds 2 --warmup 1].
    #[arg(long, value_name = "N", value_enum, value_delimiter = ',', num_args = 0..=1, default_missing_value = "9,11,12")]
    pub figure: Vec<PaperFigure>,
    /// Contenders to compare; alone and solo are always there, as references.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Contender::among(NET),
          default_value_if("figure", ArgPredicate::IsPresent, sweep::CONTENDERS),
          default_values = ["again", "none", "dscp", "htb", "rate", "bbr", "cubic", "lp", "vegas", "lull"])]
    pub contenders: Vec<Contender>,
    /// A lull contender for each of these preemption intervals.
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        default_value_if("figure", ArgPredicate::IsPresent, sweep::INTERVALS)
    )]
    pub intervals: Vec<IntervalChoice>,
    /// Seconds before each run's counting begins.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 2.0,
        default_value_if("figure", ArgPredicate::IsPresent, sweep::WARMUP),
        value_parser = seconds
    )]
    pub warmup: f64,
    /// Shares of time in which a transferring foreground sends, in percent: a case for each.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [25],
          default_value_if("figure", ArgPredicate::IsPresent, sweep::INTENSITIES),
          value_parser = percent)]
    pub intensity: Vec<u64>,
    /// Time between two datagrams that measure the round trip beside a connection (tcp-tcp, tcp-down); 0 for
    /// none.
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    pub probe: Nanos,
    /// Rate of the links that are fast by default, in megabits per second.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub fast_mbit: u32,
    /// Rate of the other links.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub slow_mbit: u32,
    /// What every experiment can be asked.
    #[command(flatten)]
    pub common: Common,
}

impl NetArgs {
    /// The cases to measure.
    pub fn cases(&self) -> Vec<NetCase> {
        match &self.figure[..] {
            [] => self.cases.clone(),
            figures => figures.iter().map(|figure| figure.case()).collect(),
        }
    }

    /// All contenders to run, the references first, each once.
    pub fn contenders(&self) -> Vec<Contender> {
        let of_interval = |interval: &IntervalChoice| match interval {
            IntervalChoice::Auto => Contender::Lull(Vec::new()),
            // Zero with its unit: "none" is another contender.
            IntervalChoice::Fixed(Interval::Finite(Nanos::ZERO)) => with_interval("0ns"),
            IntervalChoice::Fixed(interval) => with_interval(&interval.to_string()),
        };
        self.common.contenders(self.contenders.iter().cloned(), self.intervals.iter().map(of_interval))
    }
}

fn with_interval(interval: &str) -> Contender {
    Contender::Lull(vec!["--interval".to_owned(), interval.to_owned()])
}

#[cfg(test)]
mod tests;
