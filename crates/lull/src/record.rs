//! `lull record`: writes down this machine's block requests, for `lull advise`.
//!
//! The kernel programs of `lull run` observe; every 20 ms what has ended is taken out of their ring and written in the
//! format of [`lull_sim::trace::recording`]. The end comes with the time or a signal (Ctrl-C, SIGTERM, SIGHUP); what was
//! recorded is kept in either case. What is missing stands in the summary and, as a comment, at the end of the file.

mod summary;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use lull_bpf::{Device, Protect, Recorded, Recorder, SensorError};
use lull_core::Nanos;
use lull_linux::topology::Disk;
use lull_linux::{clock, stop};
use lull_sim::Class;
use lull_sim::trace::recording::{Record, Writer};

use lull_engine::disk::start::choose;
use summary::{Part, Summary};

/// Arguments of `lull record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Needs root. Background is what carries an idle mark (ionice -c 3, SCHED_IDLE, cpu.idle, and what lull \
run starts); write-back that nobody waits for is left out; everything else is foreground.\n\nRecord while the foreground \
does what it usually does, then: lull advise FILE."
)]
pub(crate) struct RecordArgs {
    /// How long to record. Longer sees more of what the foreground does; a minute is enough for one that does the same all the time.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, conflicts_with = "until_ctrl_c",
          value_parser = clap::value_parser!(u64).range(1..=604_800))]
    seconds: u64,

    /// Record until Ctrl-C (or SIGTERM) instead. Ctrl-C ends a recording with --seconds early, too.
    #[arg(long)]
    until_ctrl_c: bool,

    /// Record only this disk (as in /sys/block). Repeatable; default all.
    #[arg(long, value_name = "NAME")]
    disk: Vec<String>,

    /// Where the recording goes; a file there is replaced. `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "lull-recording.txt")]
    out: PathBuf,
}

/// Time between two looks into the ring: it has room for all that devices serve meanwhile, and signals are noticed soon.
const TAKE_EVERY: Duration = Duration::from_millis(20);

type Out = Writer<BufWriter<Box<dyn Write>>>;

/// Records, and says what was recorded.
pub(crate) fn run(args: &RecordArgs) -> anyhow::Result<()> {
    stop::install().context("cannot install the signal handler")?;
    let (disks, notes) = chosen(&args.disk)?;
    let mut recorder = Recorder::load(&Protect::default()).map_err(|error| refused(&error))?;
    let mut devices = Vec::new();
    for disk in &disks {
        devices.push(recorder.watch(disk.dev.major, disk.dev.minor)?);
    }
    let mut out = open(&args.out)?;
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let until =
        if args.until_ctrl_c { "until".to_owned() } else { format!("for {} s or until", args.seconds) };
    eprintln!("lull: recording {} {until} Ctrl-C", names.join(", "));
    for note in notes {
        eprintln!("lull: {note}");
    }

    let began = clock::now();
    let end = if args.until_ctrl_c { Nanos::MAX } else { began.plus(Nanos::from_secs(args.seconds)) };
    let mut parts = vec![Part::default(); disks.len()];
    loop {
        let last = stop::requested() || clock::now() >= end;
        write(&mut out, &names, &recorder.take()?, &mut parts).with_context(|| unwritten(&args.out))?;
        if last {
            break;
        }
        std::thread::sleep(TAKE_EVERY);
    }
    let summary = summary(clock::now().since(began), &names, &devices, parts, recorder.missed());
    finish(out, &summary).with_context(|| unwritten(&args.out))?;
    eprint!("{}", summary.page(&args.out));
    Ok(())
}

/// The disks named, or all.
fn chosen(names: &[String]) -> anyhow::Result<(Vec<Disk>, Vec<String>)> {
    let mut notes = Vec::new();
    let disks = choose(names, &mut notes);
    if let Some(missing) = names.iter().find(|name| disks.iter().all(|disk| disk.name != **name)) {
        let all: Vec<String> = choose(&[], &mut Vec::new()).into_iter().map(|disk| disk.name).collect();
        bail!("--disk {missing}: there is no such disk with a size; there are: {}", all.join(", "));
    }
    if disks.is_empty() {
        bail!("there is no disk to record: /sys/block has none with a size");
    }
    Ok((disks, notes))
}

/// One line for who may not load the programs, or has a kernel that does not take them.
fn refused(error: &SensorError) -> anyhow::Error {
    if !nix::unistd::geteuid().is_root() {
        return anyhow!("recording needs root, to load BPF programs: try sudo lull record");
    }
    match error {
        SensorError::Bpf { step, source, .. } => {
            anyhow!("cannot record, because the kernel refused to {step}: {source}; lull doctor says more")
        }
        other => anyhow!("cannot record: {other}"),
    }
}

fn open(path: &Path) -> anyhow::Result<Out> {
    let out: Box<dyn Write> = if path == Path::new("-") {
        Box::new(std::io::stdout())
    } else {
        let file = std::fs::File::create(path)
            .with_context(|| format!("cannot write {}: is the directory writable?", path.display()))?;
        Box::new(file)
    };
    Writer::new(BufWriter::with_capacity(1 << 18, out)).with_context(|| unwritten(path))
}

fn unwritten(path: &Path) -> String {
    format!("cannot write {}: is there room? What was written before is kept", path.display())
}

fn write(out: &mut Out, names: &[&str], requests: &[Recorded], parts: &mut [Part]) -> std::io::Result<()> {
    for request in requests {
        let (Some(device), Some(part)) = (names.get(request.device), parts.get_mut(request.device)) else {
            continue;
        };
        let class = if request.background { Class::Background } else { Class::Foreground };
        let Recorded { arrival, end, bytes, .. } = *request;
        out.write(&Record { arrival, end, class, bytes, device })?;
        part.requests[class.index()] += 1;
    }
    Ok(())
}

fn summary(
    span: Nanos,
    names: &[&str],
    devices: &[Device],
    mut parts: Vec<Part>,
    missed: Option<u64>,
) -> Summary {
    for ((part, name), device) in parts.iter_mut().zip(names).zip(devices) {
        let (report, now) = (device.report(), device.observation());
        part.name = (*name).to_owned();
        part.neutral = report.neutral;
        part.dropped = report.dropped;
        part.healed = report.healed;
        part.unfinished = u64::from(now.foreground.in_service) + u64::from(now.background.in_service);
    }
    Summary { span, parts, missed }
}

fn finish(mut out: Out, summary: &Summary) -> std::io::Result<()> {
    out.note(&summary.line())?;
    out.finish()?.flush()
}
