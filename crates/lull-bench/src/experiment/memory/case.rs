//! The cases: which foreground beside which job, in how much memory.
//!
//! | case | memory | foreground | job | paper |
//! |---|---|---|---|---|
//! | `host-first` | 192 MiB, swap | working set of 128 MiB, there when the job starts | the same | table 2 |
//! | `guest-first` | 192 MiB, swap | the same, from its start | the same, full when the foreground starts | table 2 |
//! | `page-out` | 192 MiB, swap | fills 128 MiB | the same | figure 5 |
//! | `cache` | 2 GiB | random reads of 4 KiB of a hot file of 1 GiB, 200 µs apart | reads 8 GiB from end to end, over and over | – |
//! | `wal` | all | appends 4 KiB and fsync, 2 ms apart | writes 4 GiB, over and over | – |
//! | `quiet-write`, `quiet-read`, `quiet-work` | all | none | writes 4 GiB; reads 4 GiB; 20,000 requests of a working set | – |
//!
//! Windows begin when the control has settled: what a job takes before is not counted. `guest-first` and
//! `page-out` count the foreground from its start, three seconds after the job's; without a foreground the
//! whole command counts.
//!
//! The paper's machine has one CPU, on which the job does not run while the foreground can; here the job has
//! a CPU of its own, so that it goes on asking for its pages.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lull_core::Nanos;

use super::args::{MemoryArgs, MemoryCase};
use crate::Error;
use crate::contender::Contender;
use crate::corpus;
use crate::experiment::trial::{Foreground, Window};
use crate::process::words;
use crate::units::{Bytes, nanos};

const MIB: u64 = Bytes::MIB;
/// The small machine of the paper, and each of the two working sets.
pub(super) const SMALL: u64 = 192 * MIB;
pub(super) const SET: u64 = 128 * MIB;
/// What the kernel and the harness's own programs need of the small machine, if a limit is chosen by hand.
const MARGIN: u64 = 8 * MIB;
const HOT: u64 = 1024 * MIB;
const CACHE: u64 = 2048 * MIB;
const STREAM: u64 = 8192 * MIB;
const COPY: u64 = 4096 * MIB;
const QUIET_WRITE: u64 = 4096 * MIB;
const QUIET_READ: u64 = 4096 * MIB;
const QUIET_REQUESTS: u64 = 20_000;
/// Swap for the small machine.
pub(super) const SWAP: Bytes = Bytes(1024 * MIB);
/// Bound on the job of `limit` beside the log.
const COPY_LIMIT: u64 = 64 * MIB;
/// From a job's start until its control has settled: lull lends memory once a job is a second old, and loads
/// for that.
const SETTLED: Nanos = Nanos::from_secs(3);
/// The same, and the start of the job, which comes after that of a foreground that goes first.
const STARTED_AND_SETTLED: Nanos = Nanos::from_secs(4);
/// What a run takes beside its window: cold files, the end of both programs, a sync.
const BESIDE: Nanos = Nanos::from_secs(2);
/// What a run without a window takes about, at full size.
const TO_ITS_END: Nanos = Nanos::from_secs(4);

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in records and tables.
    pub name: String,
    /// The foreground; none in the quiet cases.
    pub foreground: Option<Foreground>,
    /// Whether a run in which the job does nothing while the foreground is counted says nothing.
    pub must_work: bool,
    /// Arguments of the job's load, without its progress.
    pub background: Vec<OsString>,
    /// The small machine's memory; `None` for all there is.
    pub memory: Option<Bytes>,
    /// What the job may have under the contender `limit`.
    pub limit: Bytes,
    /// Whether the small machine swaps.
    pub swaps: bool,
    /// Files that are to be read from the disk.
    pub cold: Vec<PathBuf>,
    /// Files that a run leaves behind.
    pub written: Vec<PathBuf>,
    /// How long each run is.
    pub window: Window,
    contenders: &'static [Contender],
}

static WORK: [Contender; 3] = [Contender::Unmanaged, Contender::NiceIonice, Contender::MemoryLimit];
static CACHED: [Contender; 5] =
    [Contender::Unmanaged, Contender::NiceIonice, Contender::Bfq, Contender::MemoryLimit, Contender::NoCache];
static LOGGED: [Contender; 5] = [
    Contender::Unmanaged,
    Contender::NiceIonice,
    Contender::Bfq,
    Contender::MemoryLimit,
    Contender::DirtyBytes,
];
static PLAIN: [Contender; 1] = [Contender::Unmanaged];

fn with_file(text: &str, file: &Path) -> Vec<OsString> {
    let mut all = words(text);
    all.extend(["--file".into(), file.as_os_str().to_owned()]);
    all
}

/// A foreground that is ready before the job starts.
fn first(load: Vec<OsString>) -> Option<Foreground> {
    Some(Foreground { goes_first: true, ..Foreground::of(load) })
}

/// One that starts when the job has worked for a while.
fn after(lead: Nanos, load: Vec<OsString>) -> Option<Foreground> {
    Some(Foreground { lead, ..Foreground::of(load) })
}

impl Case {
    /// The cases of a group, with their data files in `directory`.
    pub fn of(group: MemoryCase, directory: &Path, args: &MemoryArgs) -> Result<Vec<Self>, Error> {
        let scaled = |bytes: u64| (bytes / args.scale / MIB).max(1) * MIB;
        let base = Self {
            name: String::new(),
            foreground: None,
            must_work: false,
            background: Vec::new(),
            memory: None,
            limit: Bytes(SMALL - SET - MARGIN),
            swaps: false,
            cold: Vec::new(),
            written: Vec::new(),
            window: Window { warmup: Nanos::ZERO, length: nanos(args.common.seconds) },
            contenders: &PLAIN,
        };
        let settled = |warmup: Nanos| Window { warmup, ..base.window };
        let set = format!("mem-work --memory {SET}");
        let small = Self { memory: Some(Bytes(SMALL)), swaps: true, contenders: &WORK, ..base.clone() };
        Ok(match group {
            MemoryCase::HostFirst => vec![Self {
                name: "host-first".to_owned(),
                foreground: first(words(&format!("{set} --ready --seed 1"))),
                background: words(&format!("{set} --count-fill --seed 2")),
                window: settled(STARTED_AND_SETTLED),
                ..small
            }],
            MemoryCase::GuestFirst => vec![Self {
                name: "guest-first".to_owned(),
                foreground: after(SETTLED, words(&format!("{set} --seed 1"))),
                background: words(&format!("{set} --seed 2")),
                ..small
            }],
            MemoryCase::PageOut => vec![Self {
                name: "page-out".to_owned(),
                foreground: after(SETTLED, words(&format!("{set} --fill-only --seed 1"))),
                background: words(&format!("{set} --seed 2")),
                ..small
            }],
            MemoryCase::Cache => {
                let (hot, stream) = (directory.join("hot.dat"), directory.join("stream.dat"));
                corpus::data_file(&hot, Bytes(scaled(HOT)), args.common.seed)?;
                corpus::data_file(&stream, Bytes(scaled(STREAM)), args.common.seed + 1)?;
                vec![Self {
                    name: "cache".to_owned(),
                    foreground: first(with_file("disk-read --hot --random --think 200us", &hot)),
                    background: with_file("disk-stream --block 1MiB", &stream),
                    memory: Some(Bytes(scaled(CACHE))),
                    limit: Bytes(scaled(CACHE - HOT) / 4),
                    window: settled(STARTED_AND_SETTLED),
                    must_work: true,
                    cold: vec![hot, stream],
                    contenders: &CACHED,
                    ..base
                }]
            }
            MemoryCase::Wal => {
                let (log, copy) = (directory.join("log.dat"), directory.join("copy.dat"));
                let size = scaled(COPY);
                vec![Self {
                    name: "wal".to_owned(),
                    foreground: after(Nanos::ZERO, with_file("disk-log --think 2ms", &log)),
                    background: with_file(&format!("disk-write --block 1MiB --size {size}"), &copy),
                    window: settled(SETTLED),
                    must_work: true,
                    limit: Bytes(scaled(COPY_LIMIT)),
                    written: vec![log, copy],
                    contenders: &LOGGED,
                    ..base
                }]
            }
            MemoryCase::Quiet => {
                let (copy, read) = (directory.join("copy.dat"), directory.join("read.dat"));
                corpus::data_file(&read, Bytes(scaled(QUIET_READ)), args.common.seed)?;
                let blocks = |bytes: u64| scaled(bytes) / MIB;
                let write = format!("disk-write --block 1MiB --requests {}", blocks(QUIET_WRITE));
                let stream = format!("disk-stream --keep --block 1MiB --requests {}", blocks(QUIET_READ));
                let named =
                    |name: &str, background| Self { name: name.to_owned(), background, ..base.clone() };
                vec![
                    Self { written: vec![copy.clone()], ..named("quiet-write", with_file(&write, &copy)) },
                    Self { cold: vec![read.clone()], ..named("quiet-read", with_file(&stream, &read)) },
                    named("quiet-work", words(&format!("{set} --requests {QUIET_REQUESTS}"))),
                ]
            }
        })
    }

    /// About how long a run takes.
    pub fn takes_about(&self) -> Nanos {
        let Some(foreground) = &self.foreground else { return TO_ITS_END };
        // One that only fills its set is done long before the window is over.
        let length = if self.name == "page-out" { Nanos::ZERO } else { self.window.length };
        BESIDE.plus(foreground.lead).plus(self.window.warmup).plus(length)
    }

    /// Whether a contender has to do with it.
    pub fn takes(&self, contender: &Contender) -> bool {
        match contender {
            Contender::Lull(_) => true,
            Contender::Alone | Contender::Again | Contender::Solo => self.foreground.is_some(),
            other => self.contenders.contains(other),
        }
    }

    /// Arguments of the job's load under this contender.
    pub fn job(&self, contender: &Contender, progress: &Path) -> Vec<OsString> {
        let mut all = self.background.clone();
        let streams = all.first().is_some_and(|load| load == "disk-stream");
        if streams && *contender != Contender::NoCache && !all.contains(&"--keep".into()) {
            all.push("--keep".into());
        }
        all.extend(["--json".into(), "--progress".into(), progress.as_os_str().to_owned()]);
        all
    }
}

#[cfg(test)]
mod tests;
