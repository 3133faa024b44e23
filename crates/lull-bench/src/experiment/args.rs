//! What every experiment can be asked, and what follows from it.
//!
//! Experiments differ in their defaults, not in what an option means: they change a default with `mut_arg`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lull_core::{Nanos, SmartSetting};

use crate::Error;
use crate::contender::Contender;
use crate::process::{self, Program};
use crate::record::{Host, LULL_FLAGS};
use crate::report::{self, ReportArgs};
use crate::units::some_seconds;

use super::awake::Awake;
use super::host;
use super::ledger::Ledger;

/// Arguments of every experiment.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// Directory for records, tables and pictures.
    #[arg(long, value_name = "DIR", default_value = "lull-bench-results")]
    pub out: PathBuf,
    /// Print the figures as JSON instead of tables.
    #[arg(long)]
    pub json: bool,
    /// Flags of `lull run` for every lull contender, e.g. "--max-slowdown 2%".
    #[arg(
        long,
        value_name = "FLAGS",
        default_value = "",
        allow_hyphen_values = true,
        hide_default_value = true
    )]
    pub lull_args: String,
    /// A further lull contender with these flags of `lull run`, e.g. "--interval 5ms --depth 1"; may be
    /// repeated.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub lull_flags: Vec<String>,
    /// Another lull program whose `run` is measured instead of this one's.
    #[arg(long, value_name = "FILE")]
    pub lull: Option<PathBuf>,
    /// Rounds; each runs every contender once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Counted seconds per run.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = some_seconds)]
    pub seconds: f64,
    /// Seed of the order of runs and of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Keep idle CPUs awake (root). Otherwise a foreground may be faster beside background than alone, since
    /// background keeps them awake; then the foreground alone is faster than it is in daily life.
    #[arg(long)]
    pub awake: bool,
}

impl Common {
    /// All contenders to run: the references, those named on the command line, lull with further flags, and
    /// `more`; each once.
    pub fn contenders(
        &self,
        named: impl IntoIterator<Item = Contender>,
        more: impl IntoIterator<Item = Contender>,
    ) -> Vec<Contender> {
        let further = self.lull_flags.iter().map(|flags| Contender::Lull(words(flags).collect()));
        let mut all = vec![Contender::Alone, Contender::Solo];
        for contender in named.into_iter().chain(further).chain(more) {
            if !all.contains(&contender) {
                all.push(contender);
            }
        }
        all
    }

    /// Facts of the machine, and what keeps its CPUs awake: to be held as long as something is measured.
    /// `directory` is that of the work.
    pub fn prepare(&self, directory: &Path, program: &Program) -> (Host, Awake) {
        let awake = if self.awake { Awake::keep() } else { Awake::doze() };
        if self.awake && !awake.is_kept() {
            eprintln!(
                "lull bench: --awake: idle CPUs cannot be kept awake here; run as root, on a kernel with PM QoS"
            );
        }
        if let Err(error) = process::adopt() {
            eprintln!("lull bench: {error}: what outlives a contender is not counted");
        }
        let host =
            Host { awake: awake.is_kept(), terms: self.terms(), ..host::look(directory, program, self.seed) };
        (host, awake)
    }

    /// What has to be the same in measurements that are compared, as far as every experiment has it.
    pub fn terms(&self) -> BTreeMap<String, String> {
        let terms = [
            ("seconds", self.seconds.to_string()),
            ("idle CPUs awake", self.awake.to_string()),
            (LULL_FLAGS, self.lull_args.clone()),
        ];
        terms.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// The program whose `run` is measured.
    ///
    /// # Errors
    /// When another one was named that cannot be run.
    pub fn program(&self, own: &Program) -> Result<Program, Error> {
        let Some(exe) = &self.lull else { return Ok(own.clone()) };
        let answer = Command::new(exe).arg("--version").stdin(Stdio::null()).output();
        let problem = match answer {
            Ok(answer) if answer.status.success() => return Ok(own.clone().with_runner(exe.clone())),
            Ok(answer) => format!("ended with {} when asked for its version", answer.status),
            Err(error) => format!("cannot be run: {error}"),
        };
        let problem = format!("{problem}; name a lull program");
        Err(Error::Argument { argument: format!("--lull {}", exe.display()), problem })
    }

    /// The contender that is started: a run of lull, whatever its policy, with the experiment's flags first;
    /// then those for every lull and its own, or its policy with this window. Its name in the records stays.
    pub fn started(&self, contender: &Contender, first: &[String], smart_window: Nanos) -> Contender {
        let own: Vec<String> = match (contender, contender.policy_flags(smart_window)) {
            (Contender::Lull(own), _) => words(&self.lull_args).chain(own.iter().cloned()).collect(),
            (_, Some(policy)) => policy.to_vec(),
            (other, None) => return other.clone(),
        };
        Contender::Lull([first, &own].concat())
    }

    /// Writes and prints the report: what was measured before an interruption is reported too.
    ///
    /// # Errors
    /// That of the measurement, of writing, or that nothing was measured.
    pub fn conclude(&self, measured: Result<(), Error>, ledger: &Ledger) -> Result<(), Error> {
        let reported = if self.json {
            report::write(&self.out, &mut std::io::sink())
                .and_then(|()| report::run_report(&ReportArgs { dir: self.out.clone(), json: true }))
        } else {
            report::write(&self.out, &mut std::io::stdout().lock())
        };
        measured.and(reported).and_then(|()| ledger.ensure_measured())
    }
}

/// What a reader of smart's runs should know, if the counting begins before it has learnt with such windows.
pub(super) fn unlearnt(window: Nanos, settle_s: f64) -> Option<String> {
    let setting = SmartSetting::with_window(window);
    let learning = setting.window.times(2 * u64::from(setting.windows));
    (learning.as_secs_f64() > settle_s)
        .then(|| format!("smart learns for {learning}, and the counting began after {settle_s} s"))
}

fn words(flags: &str) -> impl Iterator<Item = String> {
    flags.split_whitespace().map(str::to_owned)
}
