//! The show: what a checksum job does to a latency-sensitive reader, with and without lull, live in the terminal.
//!
//! ```text
//!  make files ─▶ round 1: alone, plain, nice+ionice, lull, checksum alone ─▶ round 2 … ─▶ table, picture ─▶ remove files
//!                each turn: reader ║ find … | xargs -P4 cksum, over and over, always from the disk
//! ```
//! The foreground reads 4 KiB at random, past the page cache, with 200 µs between requests. The background
//! is an ordinary command line; cksum, because it waits for the disk rather than the processor. Each line of output is one finished file: the demo counts its bytes and drops its
//! pages from the cache at once, so that every pass reads the disk. Nothing here needs root. The whole takes less than
//! three minutes: five turns per round, a few seconds each.
//!
//! Records and reports are those of the benchmarks (case `demo`), and so are the figures' meanings.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lull_core::Nanos;

use crate::contender::Contender;
use crate::corpus::{self, Sizes, Tree};
use crate::error::Context;
use crate::experiment::trial::{self, Foreground, Job, Meter, Reader, Tick, Window};
use crate::experiment::{host, ledger};
use crate::process::{Program, shown};
use crate::record::{self, Record, Run, Unmet, Writer};
use crate::report::picture::{self, Panel};
use crate::report::table;
use crate::study::Study;
use crate::units::{Bytes, mb_per_s, whole};
use crate::{Error, clock, stop};

const CASE: &str = "demo";
/// Size of each file that the job reads.
const FILE: Bytes = Bytes(8 * Bytes::MIB);
const THINK: Nanos = Nanos::from_micros(200);

/// Arguments of `lull demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    /// Directory for the files, the records and the picture; on the disk to show.
    #[arg(long, value_name = "DIR", default_value = ".demo")]
    pub dir: PathBuf,
    /// Rounds; each shows every contender once.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Counted seconds per turn.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub seconds: f64,
    /// Bytes of the files that the checksum job reads.
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
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
            let _ = std::fs::remove_dir_all(self.directory);
        }
    }
}

/// `lull demo`: makes the files, shows the turns, ends with a table and a picture.
pub fn run_demo(args: &DemoArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    std::fs::create_dir_all(&args.dir).at("create", &args.dir)?;
    let records = args.dir.join(record::FILE_NAME);
    if records.exists() {
        std::fs::remove_file(&records).at("replace", &records)?;
    }
    let mut out = Writer::open(&args.dir)?;
    out.append(&Record::Host(host::look(&args.dir, program, 1)))?;

    let data = args.dir.join("files");
    let _sweeper = Sweeper { directory: &data, keep: args.keep };
    println!("making {} of files in {}", Bytes(args.size.0 + Bytes::GIB), data.display());
    let reader_file = data.join("reader.dat");
    corpus::data_file(&reader_file, Bytes(Bytes::GIB), 1)?;
    let tree = corpus::tree(&data.join("tree"), args.size, Sizes::Equal(FILE), 2)?;
    corpus::chill(&tree)?;

    let flags = args.lull_flags.split_whitespace().map(str::to_owned).collect();
    let mut contenders = Vec::new();
    for contender in [
        Contender::Alone,
        Contender::Unmanaged,
        Contender::NiceIonice,
        Contender::Lull(flags),
        Contender::Solo,
    ] {
        match contender.obstacle(None, program) {
            None => contenders.push(contender),
            Some(detail) => {
                println!("not shown: {}: {detail}", contender.name());
                let contender = Some(contender.name());
                out.append(&Record::Unmet(Unmet { case: CASE.to_owned(), contender, detail }))?;
            }
        }
    }
    println!("reader:     4 KiB random reads of {}, {THINK} between them", reader_file.display());
    println!("background: {}\n", shown(&checksum(&tree.root)));

    let reader = Reader { file: reader_file, think: THINK, exponential: false, seed: 1 };
    for round in 1..=args.rounds {
        // The first round keeps the order of the story; later ones are shuffled.
        let order =
            if round == 1 { contenders.clone() } else { ledger::shuffled(&contenders, CASE, 1, round) };
        for (position, contender) in order.iter().enumerate() {
            let mut display = Display::new(format!("round {round}/{}  {:12}", args.rounds, contender.name()));
            let run = turn(args, &reader, &tree, contender, program, &mut display)?;
            let run = Run { round, position, ..run };
            display.finish(&run);
            out.append(&Record::Run(run))?;
        }
    }
    finish(&args.dir)
}

/// One contender's turn.
fn turn(
    args: &DemoArgs,
    reader: &Reader,
    tree: &Tree,
    contender: &Contender,
    program: &Program,
    display: &mut Display,
) -> Result<Run, Error> {
    let window = Window { warmup: Nanos::from_millis(500), length: Nanos(whole(args.seconds * 1e9)) };
    let job = contender.has_background().then(|| Job {
        argv: contender.wrap(checksum(&tree.root), program),
        meter: Meter::Lines(Box::new(finished_file)),
        leash: false,
        at_once: false,
    });
    let command = job.as_ref().map(|job| shown(&job.argv));
    let reader = contender.has_foreground().then_some(reader as &dyn Foreground);
    let outcome = trial::run(reader, job, window, program, &mut |tick| display.show(&tick))?;
    Ok(Run {
        case: CASE.to_owned(),
        contender: contender.name(),
        round: 0,
        position: 0,
        command,
        foreground: outcome.foreground,
        background: outcome.background,
        counted: true,
        notes: outcome.notes,
        ..Run::default()
    })
}

/// The background: checksums of all files, four processes at a time, again and again.
fn checksum(root: &Path) -> Vec<OsString> {
    let script = "while :; do find \"$1\" -name 'f*' -type f -print0 | xargs -0 -n 2 -P 4 cksum; done";
    let mut argv: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).to_vec();
    argv.push(root.as_os_str().to_owned());
    argv
}

/// A line of cksum: the checksum, the size, the path. Counts the file and makes it cold again.
fn finished_file(line: &str) -> u64 {
    let Some(path) = line.splitn(3, ' ').nth(2).map(Path::new) else { return 0 };
    // A page that stays cached makes the job a little faster than the disk; not worth ending the show for.
    let _ = corpus::forget(path);
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// The line that is rewritten while a turn runs.
struct Display {
    heading: String,
    live: bool,
    shown_at: Nanos,
    foreground: String,
}

impl Display {
    fn new(heading: String) -> Self {
        let live = std::io::stdout().is_terminal();
        Self { heading, live, shown_at: Nanos::ZERO, foreground: String::new() }
    }

    fn show(&mut self, tick: &Tick) {
        if let Some(period) = &tick.foreground {
            let [p50, p99] = [period.latency.p50_ns, period.latency.p99_ns].map(Nanos);
            self.foreground = format!("median {p50:>7}  p99 {p99:>7}");
        }
        let now = clock::now();
        if !self.live || now.since(self.shown_at) < Nanos::from_millis(500) {
            return;
        }
        self.shown_at = now;
        let rate =
            tick.background_rate.map_or_else(String::new, |rate| format!("{:6.0} MB/s", mb_per_s(rate)));
        self.rewrite(&format!("{}  reader {:32}  background {rate}", self.heading, self.foreground));
    }

    fn finish(&self, run: &Run) {
        let mut text = format!("{}  ", self.heading);
        if let Some(foreground) = &run.foreground {
            let latency = foreground.latency.unwrap_or_default();
            let [p50, p99] = [latency.p50_ns, latency.p99_ns].map(Nanos);
            text.push_str(&format!("reader median {p50:>7}  p99 {p99:>7}  "));
        } else {
            text.push_str(&" ".repeat(36));
        }
        if let Some(background) = &run.background {
            text.push_str(&format!("background {:6.0} MB/s", mb_per_s(background.rate())));
        }
        if self.live {
            self.rewrite(&text);
            println!();
        } else {
            println!("{}", text.trim_end());
        }
    }

    fn rewrite(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A terminal that is gone ends the demo by its signal; a failed write of the live line is nothing to report.
        let _ = write!(out, "\r{text}\x1b[K").and_then(|()| out.flush());
    }
}

/// Table and picture.
fn finish(directory: &Path) -> Result<(), Error> {
    let study = Study::of(&record::read(directory)?);
    println!("\n{}", table::render(&study, table::Form::Text));
    let Some(case) = study.cases.first() else { return Ok(()) };
    let micros = |value: f64| Nanos(whole(value)).to_string();
    let panels = [
        Panel::of("foreground p99 latency (shorter is better)", &case.rows, |row| row.p99_ns, micros),
        Panel::of(
            "background work (longer is better)",
            &case.rows,
            |row| row.bytes_per_s,
            |value| format!("{:.0} MB/s", mb_per_s(value)),
        ),
    ];
    let path = directory.join("demo.svg");
    picture::bars(&path, "a 4 KiB random reader beside cksum of a few GiB", &panels)?;
    let shown = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    println!("picture: {}", shown.display());
    let windows = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if windows {
        // Nobody may have xdg-open; the path is printed anyway.
        let _ = Command::new("xdg-open").arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
