//! The experiments: cases measured in interleaved rounds.
//!
//! ```text
//!  case ──▶ round 1: lull  alone  bfq  solo  none  …      shuffled anew in every round, from the seed
//!           round 2: none  solo  lull  idle  alone …      each run: one line in raw.jsonl, at once
//!           …
//! ```
//! A contender that cannot run here (no root, no BFQ, no such tool) is recorded as unmet with the reason, said once, and
//! left out; a run that fails is recorded the same way and the others go on. Ctrl-C stops after putting everything back.
//!
//! | module | idea |
//! |---|---|
//! | [`args`] | what can be asked |
//! | [`disk`] | cases with a foreground |
//! | [`quiet`] | cases without one |
//! | [`cpu`] | `lull bench cpu`: cases whose resource is the CPU |
//! | [`net`] | `lull bench net`: cases whose resource is a link |
//! | [`memory`] | `lull bench memory`: cases whose resource is memory, page cache and write-back |
//! | [`apps`] | `lull bench apps`: real applications beside real jobs |
//! | [`ledger`] | the log and the records of a measurement |
//! | [`trial`] | one run |
//! | [`told`] | what lull tells of a run of its own |
//! | `disturbance` | what others had of the machine meanwhile |
//! | [`host`] | facts of the machine |

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::contender::Contender;
use crate::contender::scheduler::{Guard, SYS_BLOCK};
use crate::corpus::{self, Sizes, Tree};
use crate::error::Context;
use crate::process::{Program, shown};
use crate::record::Run;
use crate::slowdisk::{self, SlowDisk};
use crate::units::Bytes;
use crate::{Error, stop};

pub mod apps;
pub mod args;
pub mod awake;
pub mod cpu;
pub mod disk;
pub(crate) mod disturbance;
pub mod host;
pub mod ledger;
pub mod memory;
pub mod net;
pub mod quiet;
pub mod told;
pub mod trial;

use disk::{Case, Data, DiskArgs, DiskCase};
use ledger::{Ledger, Plan};
use quiet::Quiet;
use trial::Foreground;

/// Pause between two runs.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);
/// Directory of the data files within `--dir`.
const DATA: &str = "lull-bench-data";

/// The directory of the data files within `--dir`, made. Of `--dir` itself only the last part is, and that is said: with a wrong path gigabytes
/// would go to another disk than was meant, and that one would be measured.
fn data_directory(dir: &Path) -> Result<PathBuf, Error> {
    let unusable =
        |problem: String| Error::Argument { argument: format!("--dir {}", dir.display()), problem };
    if !dir.exists() {
        std::fs::create_dir(dir).map_err(|error| match error.kind() {
            ErrorKind::NotFound => unusable(
                "the directory above it does not exist either; name one on the disk to use".to_owned(),
            ),
            _ => unusable(format!("it does not exist and cannot be made: {error}")),
        })?;
        eprintln!("lull bench: --dir {}: it did not exist, and was made", dir.display());
    }
    if !dir.is_dir() {
        return Err(unusable("it is no directory; name one on the disk to use".to_owned()));
    }
    let data = dir.join(DATA);
    std::fs::create_dir_all(&data).at("create", &data)?;
    Ok(data)
}

/// `lull bench disk`: measures, then writes and prints the report.
pub fn run_disk(args: &DiskArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    let program = &args.common.program(program)?;
    let directory = data_directory(&args.dir)?;
    let (host, _awake) = args.common.prepare(&directory, program);
    let disk = host.disk.clone();
    let mut bench = Bench {
        args,
        program,
        disk,
        ledger: Ledger::open(&args.common.out, host)?,
        contenders: args.contenders(),
    };
    let measured = bench.measure(&directory);
    if args.clean {
        std::fs::remove_dir_all(&directory).at("remove", &directory)?;
    }
    args.common.conclude(measured, &bench.ledger)
}

struct Bench<'a> {
    args: &'a DiskArgs,
    program: &'a Program,
    disk: Option<String>,
    ledger: Ledger,
    contenders: Vec<Contender>,
}

impl Bench<'_> {
    fn measure(&mut self, directory: &Path) -> Result<(), Error> {
        let wants = |group| self.args.cases.contains(&group);
        let fast = self.args.cases.iter().any(|case| !matches!(case, DiskCase::Slow | DiskCase::Quiet));
        let tree = wants(DiskCase::Sequential) || wants(DiskCase::Quiet);
        if fast || tree {
            eprintln!("making data files in {}", directory.display());
        }
        let data = if fast { Some(Data::make(directory, self.args)?) } else { None };
        let tree = if tree {
            Some(corpus::tree(
                &directory.join("tree"),
                self.args.tree_size,
                Sizes::Mixed,
                self.args.common.seed,
            )?)
        } else {
            None
        };
        for group in self.args.cases.clone() {
            match (group, &data, &tree) {
                (DiskCase::Parallel, Some(data), _) => {
                    self.with_foreground(&disk::parallel(data, self.args), None)?
                }
                (DiskCase::Libaio, Some(data), _) => {
                    self.with_foreground(&disk::libaio(data, self.args), None)?
                }
                (DiskCase::Sequential, Some(data), Some(tree)) => {
                    self.with_foreground(&disk::sequential(data, tree.clone(), self.args), None)?;
                }
                (DiskCase::Files, Some(data), _) => {
                    let files = self.files(directory)?;
                    self.with_foreground(&disk::files(data, files, self.args), None)?;
                }
                (DiskCase::Short, Some(data), _) => {
                    let files = self.files(directory)?;
                    self.with_foreground(&disk::short(data, files, self.args), None)?;
                }
                (DiskCase::Slow, ..) => self.slow()?,
                (DiskCase::Quiet, _, Some(tree)) => {
                    let project = directory.join("project");
                    corpus::project(&project, self.args.compile_units, corpus::FUNCTIONS)?;
                    let cached = directory.join("cached.dat");
                    corpus::data_file(&cached, Bytes(16 * Bytes::MIB), self.args.common.seed)?;
                    let jobs = [
                        Quiet::Tar(tree.clone()),
                        Quiet::Checksum(tree.clone()),
                        Quiet::Compile(project),
                        Quiet::Cached(cached),
                        Quiet::Start,
                    ];
                    jobs.iter().try_for_each(|job| self.without_foreground(job))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn files(&self, directory: &Path) -> Result<Tree, Error> {
        let args = self.args;
        corpus::tree(&directory.join("files"), args.data_size, Sizes::Equal(disk::FILE), args.common.seed)
    }

    fn slow(&mut self) -> Result<(), Error> {
        if let Some(detail) = slowdisk::obstacle() {
            return self.ledger.unmet("slow", None, detail);
        }
        let device = match SlowDisk::start(self.program, None) {
            Ok(device) => device,
            Err(error) => return self.ledger.unmet("slow", None, error.to_string()),
        };
        for percent in self.args.intensities.clone() {
            let case = disk::slow(device.path(), percent, self.args);
            self.with_foreground(&case, Some(&device.name()))?;
        }
        Ok(())
    }

    /// Contenders that can run a case on `disk`; the others are recorded.
    fn able(&mut self, case: &str, disk: Option<&str>, among: &[Contender]) -> Result<Vec<Contender>, Error> {
        let mut able = Vec::new();
        for contender in among {
            stop::check()?;
            match contender.obstacle(disk, self.program) {
                None => able.push(contender.clone()),
                Some(detail) => self.ledger.unmet(case, Some(contender), detail)?,
            }
        }
        Ok(able)
    }

    fn with_foreground(&mut self, case: &Case, disk: Option<&str>) -> Result<(), Error> {
        let disk = disk.map(str::to_owned).or_else(|| self.disk.clone());
        let contenders = self.able(&case.name, disk.as_deref(), &self.contenders.clone())?;
        let run_s = (case.window.warmup.as_secs_f64() + case.window.length.as_secs_f64() + 0.3)
            * contenders.len() as f64
            * f64::from(self.args.common.rounds);
        eprintln!(
            "{}: {} contenders, {} rounds, about {run_s:.0} s",
            case.name,
            contenders.len(),
            self.args.common.rounds
        );
        let plan = Plan { contenders, seed: self.args.common.seed, rounds: self.args.common.rounds };
        let (args, program) = (self.args, self.program);
        self.ledger.rounds(&case.name, &plan, &mut |contender, _| {
            one(args, program, case, contender, disk.as_deref())
        })
    }

    fn without_foreground(&mut self, job: &Quiet) -> Result<(), Error> {
        let name = job.name();
        let mut among: Vec<Contender> = self.contenders.clone();
        among.retain(|contender| matches!(contender, Contender::Lull(_)));
        among.insert(0, Contender::Unmanaged);
        let contenders = self.able(name, None, &among)?;
        let mut expected = None;
        eprintln!("{name}: {} contenders, {} rounds", contenders.len(), self.args.common.rounds);
        let plan = Plan { contenders, seed: self.args.common.seed, rounds: self.args.common.rounds };
        let (program, common) = (self.program, &self.args.common);
        self.ledger.rounds(name, &plan, &mut |contender, _| {
            let finished = job.run(&common.equipped(contender, &[]), program)?;
            let mut notes = finished.faults;
            if let Some(digest) = finished.digest
                && *expected.get_or_insert(digest) != digest
            {
                notes.push("its output differs from that of the first run".to_owned());
            }
            Ok(Run {
                case: name.to_owned(),
                contender: contender.name(),
                command: Some(finished.command),
                background: Some(finished.background),
                counted: notes.is_empty(),
                notes,
                ..Run::default()
            })
        })
    }
}

/// One run of a case with a foreground.
fn one(
    args: &DiskArgs,
    program: &Program,
    case: &Case,
    contender: &Contender,
    disk: Option<&str>,
) -> Result<Run, Error> {
    let wanted = contender.scheduler().or(args.scheduler.as_deref());
    let _guard = match (wanted, disk) {
        (Some(wanted), Some(disk)) => Some(Guard::select(Path::new(SYS_BLOCK), disk, wanted)?),
        _ => None,
    };
    let started = args.common.equipped(contender, &[]);
    let prepared =
        if contender.has_background() { Some(case.work.prepare(&started, program)?) } else { None };
    let (mut command, mut fault, mut job, mut keep) = (None, None, None, None);
    if let Some(prepared) = prepared {
        command = Some(shown(&prepared.job.argv));
        (job, fault, keep) = (Some(prepared.job), prepared.fault, prepared.progress);
    }
    let reader = contender.has_foreground().then_some(&case.reader as &dyn Foreground);
    // What the previous run left in queues drains before this one begins.
    std::thread::sleep(SETTLE);
    let outcome = trial::run(reader, job, case.window, program, &mut |_| ())?;
    drop(keep);
    let counted = fault.is_none();
    let mut notes = outcome.notes;
    notes.extend(fault);
    Ok(Run {
        case: case.name.clone(),
        contender: contender.name(),
        command,
        foreground: outcome.foreground,
        background: outcome.background,
        counted,
        notes,
        ..Run::default()
    })
}

#[cfg(test)]
mod tests;
