//! The user's own measure of the foreground: `--slo`.
//!
//! Where its values come from is said by [`SloChoice`].
//!
//! A value is a latency, where less is better; `rate:` before either makes it a rate, where more is better. The unit does
//! not matter: values are compared with each other. A line without a number, a page that does not answer and a metric that is
//! missing give no value; while there are none the foreground counts as away, and the summary says so.
//!
//! The command is started before the supervisor lowers its own priority, so that it measures as any other program of
//! the foreground does. It ends with the supervisor, even one that is killed.
//!
//! A measure that gives no values is told to the user, when it begins to be silent, each time after twice as long, and when the
//! command ends:
//!
//! ```text
//!              no value for so long: told            the command has ended: told
//!   measuring ─────────────────────▶ silent ──┐    measuring, silent ─────────▶ over
//!       ▲                                     │
//!       └──────────────── a value ◀───────────┘
//! ```
//! A thread of its own watches for that; the loop thread, which is nudged, passes on what it says.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lull_api::{SloChoice, SloSource};
use lull_core::{Measure, Nanos, Reading, TrialSetting};
use lull_engine::cpu::measure::UserMeasure;
use lull_linux::clock;
use nix::sys::signal::SigSet;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use lull_engine::lock::lock;
use lull_engine::thread;

/// How often values are expected and pages are asked.
const PERIOD: Nanos = Nanos::from_secs(1);
/// A page that takes longer has no value.
const PATIENCE: Duration = Duration::from_secs(2);
/// A measure without a value for so long is silent.
const SILENCE: Nanos = Nanos::from_secs(10);
/// How long a command that has closed its output may take to end.
const ENDING: Nanos = Nanos::from_secs(1);
/// How much of a useless line is quoted.
const QUOTED_CHARS: usize = 60;
/// What it means to be without values.
const CONSEQUENCE: &str = "without values nothing is compared, so nothing is promised about the CPUs";
/// Values are summed in millionths.
const SCALE: f64 = 1e6;

/// Values so far.
#[derive(Debug, Default)]
struct Sums {
    count: AtomicU64,
    sum: AtomicU64,
    /// None has come for too long; written by the watch alone.
    is_silent: AtomicBool,
}

impl Sums {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast")]
    fn add(&self, value: f64) {
        self.sum.fetch_add((value * SCALE) as u64, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Release);
    }

    fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Acquire)
    }

    fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Release);
    }
}

/// What a source gave.
#[derive(Debug)]
enum Given {
    Value(f64),
    /// Something without a value, for a person.
    Useless(String),
}

impl Given {
    fn of(value: Option<f64>, useless: impl FnOnce() -> String) -> Self {
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        value.map_or_else(|| Self::Useless(useless()), Self::Value)
    }
}

/// What is wrong with the measure, for the user, until it is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    /// Those since the last look.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.0))
    }

    fn add(&self, text: String) {
        lock(&self.0).push(text);
    }
}

/// The running measure.
#[derive(Debug)]
pub(crate) struct Slo {
    name: String,
    is_rate: bool,
    sums: Arc<Sums>,
    command: Option<Child>,
    /// It is not wanted any more, so its end is none to tell.
    is_over: Arc<AtomicBool>,
}

impl Slo {
    /// Starts the command, or asking the page. `nudge` is called when there is a complaint.
    ///
    /// # Errors
    /// When no shell can be started.
    pub(crate) fn start(
        choice: &SloChoice,
        complaints: &Complaints,
        nudge: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (sums, is_over) = (Arc::new(Sums::default()), Arc::new(AtomicBool::new(false)));
        let (sender, given) = channel();
        let (name, source, command) = match &choice.source {
            SloSource::Command { text, dir } => {
                let mut child = shell(text, dir)?;
                let output = child.stdout.take();
                thread::start(move || {
                    let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
                    lines.map_while(Result::ok).try_for_each(|line| {
                        sender.send(Given::of(number_in(&line), || {
                            format!("prints '{}', which holds no number from 0 on", quoted(&line))
                        }))
                    })
                });
                (text.clone(), text.clone(), Some(child))
            }
            SloSource::Page { url, metric } => {
                let (asked, wanted) = (url.clone(), metric.clone());
                thread::start(move || ask(&asked, &wanted, &sender));
                (metric.clone(), format!("{url} {metric}"), None)
            }
        };
        let watch = Watch {
            source,
            sums: Arc::clone(&sums),
            is_over: Arc::clone(&is_over),
            command: command.as_ref().map(|child| Pid::from_raw(child.id().cast_signed())),
            complaints: complaints.clone(),
        };
        thread::start(move || watch.run(&given, SILENCE, nudge));
        Ok(Self { name, is_rate: choice.is_rate, sums, command, is_over })
    }

    /// For how long a comparison may have to hold the job at a stretch.
    pub(crate) fn longest_test() -> Nanos {
        TrialSetting::sampled_every(PERIOD).least_longest()
    }
}

impl UserMeasure for Slo {
    fn name(&self) -> &str {
        &self.name
    }

    fn trial(&self) -> TrialSetting {
        let measure = if self.is_rate { Measure::Level } else { Measure::Mean };
        TrialSetting { measure, ..TrialSetting::sampled_every(PERIOD) }
    }

    fn reading(&self, work: Nanos) -> Reading {
        // A sum that is ahead of its count by one value would look like a greater one.
        let count = self.sums.count.load(Ordering::Acquire);
        Reading { count, sum: self.sums.sum.load(Ordering::Relaxed), work: work.0 }
    }
}

impl Drop for Slo {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(child) = &mut self.command {
            // It leads a group of its own; what it has started ends with it.
            let group = Pid::from_raw(child.id().cast_signed());
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
            let _ = child.wait();
        }
    }
}

/// Sums up what a source gives, and says when it gives nothing.
struct Watch {
    source: String,
    sums: Arc<Sums>,
    is_over: Arc<AtomicBool>,
    command: Option<Pid>,
    complaints: Complaints,
}

impl Watch {
    fn run(&self, given: &Receiver<Given>, silence: Nanos, nudge: impl Fn()) {
        let complain = |text: String| {
            if !self.is_over.load(Ordering::SeqCst) {
                self.complaints.add(text);
                nudge();
            }
        };
        let (mut latest, mut useless) = (clock::now(), None);
        // One that is merely slow is not told again and again.
        let mut patience = silence;
        while !self.is_over.load(Ordering::SeqCst) {
            let left = latest.plus(patience).since(clock::now());
            // Once silent, there is nothing more to say until something comes.
            let left = if self.sums.is_silent() { silence } else { left };
            match given.recv_timeout(Duration::from_nanos(left.0)) {
                Ok(Given::Value(value)) => {
                    self.sums.add(value);
                    self.sums.set_silent(false);
                    (latest, useless) = (clock::now(), None);
                }
                Ok(Given::Useless(what)) => useless = Some(what),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.sums.set_silent(true);
                    let values = self.sums.count.load(Ordering::Acquire);
                    let how = self.command.map_or_else(|| "has ended".to_owned(), how_it_ended);
                    complain(format!(
                        "--slo: {} {how} after {values} values; {CONSEQUENCE} from now on",
                        self.shown()
                    ));
                    return;
                }
            }
            if !self.sums.is_silent() && clock::now().since(latest) >= patience {
                patience = patience.times(2);
                self.sums.set_silent(true);
                let what = useless.as_deref().unwrap_or("says nothing");
                complain(format!("--slo: no value for {silence}: {} {what}; {CONSEQUENCE}", self.shown()));
            }
        }
    }

    fn shown(&self) -> String {
        format!("'{}'", quoted(&self.source))
    }
}

/// As much of a text as fits into a message, in one line.
fn quoted(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Asks a page for a metric until nobody wants it.
fn ask(url: &str, metric: &str, sender: &Sender<Given>) {
    loop {
        let given = match page(url) {
            Ok(text) => match metric_in(&text, metric) {
                Some(word) => {
                    Given::of(word.parse().ok(), || format!("is {word} there, no number from 0 on"))
                }
                None => Given::Useless(format!("is not there; the page has no metric '{metric}'")),
            },
            Err(error) => Given::Useless(format!("cannot be read: {error}")),
        };
        if sender.send(given).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_nanos(PERIOD.0));
    }
}

/// How a command that has closed its output ended. It stays to be waited for.
fn how_it_ended(pid: Pid) -> String {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let deadline = clock::now().plus(ENDING);
    loop {
        match waitid(Id::Pid(pid), flags) {
            Ok(WaitStatus::Exited(_, 127)) => return "ended with status 127 (not found)".to_owned(),
            Ok(WaitStatus::Exited(_, status)) => return format!("ended with status {status}"),
            Ok(WaitStatus::Signaled(_, signal, _)) => return format!("was ended by {signal}"),
            Ok(_) if clock::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            _ => return "closed its output".to_owned(),
        }
    }
}

fn shell(text: &str, dir: &Path) -> std::io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    if dir.is_dir() {
        command.current_dir(dir);
    }
    command.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    // SAFETY: two system calls with plain integers and a set of signals, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            // What a helper blocks is not meant for it.
            SigSet::empty().thread_set_mask()?;
            match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command.spawn()
}

/// The first word of a line that is a number, with a unit or without.
fn number_in(line: &str) -> Option<f64> {
    let ends_word = |c: char| c.is_whitespace() || matches!(c, '=' | ':' | ',' | ';');
    let is_unit = |c: char| c.is_alphabetic() || matches!(c, '%' | '/');
    let mut words = line.split(ends_word).map(|word| word.trim_end_matches(is_unit));
    words.find_map(|word| word.parse().ok())
}

/// What stands for the value of a metric, named with or without its labels.
fn metric_in<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let rest = line.strip_prefix(wanted)?;
        let rest = if rest.starts_with('{') { rest.split_once('}')?.1 } else { rest };
        rest.starts_with(char::is_whitespace).then(|| rest.split_whitespace().next())?
    })
}

fn page(url: &str) -> Result<String, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
    agent.get(url).call()?.body_mut().read_to_string()
}

#[cfg(test)]
mod tests;
