//! What `lull bench net` can be asked.

use crate::contender::Contender;
use crate::experiment::args::Common;

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

/// Arguments of `lull bench net`.
#[derive(Clone, Debug, clap::Args)]
pub struct NetArgs {
    /// Cases to measure.
    #[arg(long, value_name = "CASE", value_enum, value_delimiter = ',',
          default_values = ["udp-udp", "tcp-udp", "tcp-udp-far", "tcp-tcp", "ask", "tcp-down", "ask-down", "net-redis", "net-nginx"])]
    pub cases: Vec<NetCase>,
    /// Contenders to compare; alone and solo are always there, as references.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Contender::of_net,
          default_values = ["again", "none", "dscp", "htb", "rate", "bbr", "cubic", "lull"])]
    pub contenders: Vec<Contender>,
    /// Seconds before each run's counting begins.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub warmup: f64,
    /// Shares of time in which a transferring foreground sends, in percent: a case for each.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [25],
          value_parser = clap::value_parser!(u64).range(1..=100))]
    pub intensity: Vec<u64>,
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
    /// All contenders to run, the references first, each once.
    pub fn contenders(&self) -> Vec<Contender> {
        self.common.contenders(self.contenders.iter().cloned(), [])
    }
}
