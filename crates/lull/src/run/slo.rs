//! The user's own measure of the foreground: `--slo`.
//!
//! | text | values |
//! |---|---|
//! | `CMD` | `sh -c CMD` runs as long as the job; the first number of each line it prints |
//! | `http://HOST:PORT/PATH METRIC` | the page's line of that name, Prometheus' text format, once a second |
//!
//! A value is a latency, where less is better; `rate:` before either makes it a rate, where more is better. The unit does
//! not matter: values are compared with each other. A line without a number, a page that does not answer and a metric that is
//! missing give no value; without values the foreground counts as away, and the summary says so.
//!
//! The command is started before the supervisor lowers its own priority, so that it measures as any other program of
//! the foreground does. It ends with the supervisor, even one that is killed.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lull_core::{Measure, Nanos, Reading, TrialSetting};

/// How often values are expected and pages are asked.
const PERIOD: Nanos = Nanos::from_secs(1);
/// A page that takes longer has no value.
const PATIENCE: Duration = Duration::from_secs(2);
/// Values are summed in millionths.
const SCALE: f64 = 1e6;

/// Where values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Command(String),
    Page { url: String, metric: String },
}

/// What `--slo` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SloChoice {
    source: Source,
    is_rate: bool,
}

impl FromStr for SloChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (is_rate, text) = match text.strip_prefix("rate:") {
            Some(rest) => (true, rest.trim()),
            None => (false, text.trim()),
        };
        if text.is_empty() {
            return Err(
                "is empty; give a command that prints a number each second, or a URL and a metric".to_owned()
            );
        }
        let source = if text.starts_with("http://") {
            match text.split_once(char::is_whitespace) {
                Some((url, metric)) if !metric.trim().is_empty() => {
                    Source::Page { url: url.to_owned(), metric: metric.trim().to_owned() }
                }
                _ => return Err(format!("'{text}' names no metric; write http://HOST:PORT/PATH METRIC")),
            }
        } else if text.starts_with("https://") {
            return Err(format!(
                "'{text}': only http:// pages are read; use a command, such as curl, for others"
            ));
        } else {
            Source::Command(text.to_owned())
        };
        Ok(Self { source, is_rate })
    }
}

/// Values so far.
#[derive(Debug, Default)]
struct Sums {
    count: AtomicU64,
    sum: AtomicU64,
}

impl Sums {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast")]
    fn add(&self, value: f64) {
        if value.is_finite() && value >= 0.0 {
            self.sum.fetch_add((value * SCALE) as u64, Ordering::Relaxed);
            self.count.fetch_add(1, Ordering::Release);
        }
    }
}

/// The running measure.
#[derive(Debug)]
pub(crate) struct Slo {
    name: String,
    is_rate: bool,
    sums: Arc<Sums>,
    command: Option<Child>,
}

impl Slo {
    /// Starts the command, or asking the page.
    ///
    /// # Errors
    /// When no shell can be started.
    pub(crate) fn start(choice: &SloChoice) -> std::io::Result<Self> {
        let sums = Arc::new(Sums::default());
        let into = Arc::clone(&sums);
        let (name, command) = match &choice.source {
            Source::Command(text) => {
                let mut child = shell(text)?;
                let output = child.stdout.take();
                std::thread::spawn(move || {
                    for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()) {
                        let Ok(line) = line else { break };
                        number_in(&line).into_iter().for_each(|value| into.add(value));
                    }
                });
                (text.clone(), Some(child))
            }
            Source::Page { url, metric } => {
                let (url, wanted) = (url.clone(), metric.clone());
                std::thread::spawn(move || {
                    loop {
                        page(&url)
                            .and_then(|text| metric_in(&text, &wanted))
                            .into_iter()
                            .for_each(|v| into.add(v));
                        std::thread::sleep(Duration::from_nanos(PERIOD.0));
                    }
                });
                (metric.clone(), None)
            }
        };
        Ok(Self { name, is_rate: choice.is_rate, sums, command })
    }

    /// For people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How to test with it.
    pub(crate) fn trial(&self) -> TrialSetting {
        let measure = if self.is_rate { Measure::Level } else { Measure::Mean };
        TrialSetting { measure, ..TrialSetting::sampled_every(PERIOD) }
    }

    /// The values so far, beside the work that the job has done.
    pub(crate) fn reading(&self, work: Nanos) -> Reading {
        // A sum that is ahead of its count by one value would look like a greater one.
        let count = self.sums.count.load(Ordering::Acquire);
        Reading { count, sum: self.sums.sum.load(Ordering::Relaxed), work: work.0 }
    }
}

impl Drop for Slo {
    fn drop(&mut self) {
        if let Some(child) = &mut self.command {
            // It leads a group of its own; what it has started ends with it.
            let group = nix::unistd::Pid::from_raw(child.id().cast_signed());
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
            let _ = child.wait();
        }
    }
}

fn shell(text: &str) -> std::io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    // SAFETY: one system call with plain integers, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
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

/// The value of a metric, named with or without its labels.
fn metric_in(text: &str, wanted: &str) -> Option<f64> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let rest = line.strip_prefix(wanted)?;
        let rest = if rest.starts_with('{') { rest.split_once('}')?.1 } else { rest };
        rest.starts_with(char::is_whitespace).then(|| rest.split_whitespace().next()?.parse().ok())?
    })
}

fn page(url: &str) -> Option<String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
    agent.get(url).call().ok()?.body_mut().read_to_string().ok()
}

#[cfg(test)]
mod tests;
