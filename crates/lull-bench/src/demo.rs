//! The show: what background work does to a foreground that cares for latency, with and without lull, live in
//! the terminal.
//!
//! ```text
//!  act 1, disk: make files ─▶ round 1: alone, plain, nice+ionice, lull, job alone ─▶ round 2 … ─▶ table, sentence, picture
//!  act 2, CPUs: calibrate  ─▶ round 1: alone, nice+ionice, confined, lull, job alone ─▶ …
//! ```
//! Each turn runs the foreground and, over and over, the job beside it (`act.rs`). What belongs to one act
//! only: `disk.rs`, `cpu.rs`. The sentence below a table is made from its figures (`conclusion.rs`).
//!
//! The whole takes less than three minutes, the making of the files included: turns are as long as the rest
//! of that time lets them be. Nothing here needs root, but `confined` does; who has less rights, or one CPU,
//! is told what is left out.
//!
//! Records and reports are those of the benchmarks (cases `demo-disk`, `demo-cpu`), and so are the figures'
//! meanings.

use std::path::{Path, PathBuf};

use lull_core::Nanos;

use crate::contender::group;
use crate::error::Context;
use crate::experiment::host;
use crate::process::{self, Program};
use crate::record::{self, Record, Unmet, Writer};
use crate::units::{Bytes, some_seconds};
use crate::{Error, clock, corpus, progress, stop};

mod act;
mod conclusion;
mod cpu;
mod disk;

use act::{Act, Stage};

/// How long the show may take, but for what is left to do at its end.
const WHOLE: Nanos = Nanos::from_secs(170);

/// The acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// A random reader beside checksums of cold files.
    Disk,
    /// A request server beside a compile.
    Cpu,
}

/// Arguments of `lull demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    /// Directory for the files, the records and the pictures; on the disk to show.
    #[arg(long, value_name = "DIR", default_value = ".demo")]
    pub dir: PathBuf,
    /// What to show, with commas between them.
    #[arg(long, value_name = "ACT", value_enum, value_delimiter = ',', default_values = ["disk", "cpu"])]
    pub acts: Vec<Which>,
    /// Rounds of an act; each shows every contender once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Counted seconds per turn [default: what lets the show end within three minutes].
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds)]
    pub seconds: Option<f64>,
    /// Bytes of the files that the checksum job reads; fewer on a disk that takes long to write them.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub size: Bytes,
    /// Flags for lull run, e.g. "--interval 5ms".
    #[arg(
        long,
        value_name = "FLAGS",
        default_value = "",
        allow_hyphen_values = true,
        hide_default_value = true
    )]
    pub lull_flags: String,
    /// Keep the large files.
    #[arg(long)]
    pub keep: bool,
}

/// Removes the large files when the demo ends, however it ends.
struct Sweeper<'a> {
    directory: &'a Path,
    keep: bool,
}

impl Drop for Sweeper<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // Half-made files may be missing; what cannot be removed is in the user's own directory.
            let _ = corpus::remove(self.directory);
        }
    }
}

/// `lull demo`: makes the files, shows the turns; each act ends with a table, a sentence and a picture.
pub fn run_demo(args: &DemoArgs, program: &Program) -> Result<(), Error> {
    let end = clock::now().plus(WHOLE);
    stop::install()?;
    group::sweep();
    progress::sweep();
    if let Err(error) = process::adopt() {
        eprintln!("lull demo: {error}: what outlives a turn may disturb the next one");
    }
    std::fs::create_dir_all(&args.dir).at("create", &args.dir)?;
    let records = args.dir.join(record::FILE_NAME);
    if records.exists() {
        std::fs::remove_file(&records).at("replace", &records)?;
    }
    let mut out = Writer::open(&args.dir)?;
    out.append(&Record::Host(host::look(&args.dir, program, act::SEED)))?;

    let data = args.dir.join("files");
    let _sweeper = Sweeper { directory: &data, keep: args.keep };
    let mut acts = args.acts.clone();
    acts.dedup();
    for (which, left) in acts.iter().zip((1..=acts.len() as u64).rev()) {
        let act: Result<Box<dyn Act>, Error> = match which {
            Which::Disk => disk::Reading::prepare(&data, args.size).map(|act| Box::new(act) as _),
            Which::Cpu => cpu::Serving::prepare(&data, program).map(|act| Box::new(act) as _),
        };
        let act = match act {
            Err(Error::Unmet { what, detail }) => {
                println!("not shown: {what}: {detail}");
                let case = which.case().to_owned();
                out.append(&Record::Unmet(Unmet { case, contender: None, detail }))?;
                continue;
            }
            prepared => prepared?,
        };
        let stage = Stage { args, program, case: which.case(), act: act.as_ref() };
        stage.play(&mut out, |now| Nanos(end.since(now).as_nanos() / left))?;
    }
    Ok(())
}

impl Which {
    /// The case in records, and the name of the picture.
    const fn case(self) -> &'static str {
        match self {
            Self::Disk => "demo-disk",
            Self::Cpu => "demo-cpu",
        }
    }
}

#[cfg(test)]
mod tests;
