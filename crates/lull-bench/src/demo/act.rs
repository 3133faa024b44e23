//! An act: its turns in interleaved rounds, told live, and what they come to.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::thread;

use lull_core::Nanos;

use super::{DemoArgs, conclusion};
use crate::contender::Contender;
use crate::experiment::disturbance::Around;
use crate::experiment::trial::{self, Foreground, Job, Tick, Window};
use crate::experiment::{SETTLE, ledger};
use crate::load::Latency;
use crate::process::Program;
use crate::record::{self, Background, Record, Run, Unmet, Writer};
use crate::report::picture::{self, Panel};
use crate::report::table;
use crate::study::Study;
use crate::units::{count, whole};
use crate::{Error, clock};

/// Seed of files, arrivals and orders.
pub(super) const SEED: u64 = 1;
/// What a turn takes beside its warm-up and its counted time.
const AROUND: Nanos = Nanos::from_millis(400);
/// Bounds of the counted time of a turn, unless it was asked for.
const COUNTED: [Nanos; 2] = [Nanos::from_secs(1), Nanos::from_secs(6)];

/// What one act has of its own.
pub(super) trait Act {
    /// Who stands beside whom.
    fn title(&self) -> &'static str;
    /// Foreground and background in a line each.
    fn about(&self) -> [String; 2];
    /// What lull is compared with.
    fn rivals(&self) -> [Contender; 2];
    /// Time of each turn that is not counted.
    fn warmup(&self) -> Nanos;
    /// The foreground of a round.
    fn foreground(&self, round: u32) -> Foreground;
    /// The background, without control; what earlier turns have left of it is removed.
    fn job(&self, program: &Program) -> Result<Job, Error>;
    /// The background's work per second, with its unit.
    fn speed(&self, per_s: f64) -> String;
}

/// An act that is played.
pub(super) struct Stage<'a> {
    pub(super) args: &'a DemoArgs,
    pub(super) program: &'a Program,
    /// The case in records.
    pub(super) case: &'static str,
    pub(super) act: &'a dyn Act,
}

impl Stage<'_> {
    /// Plays all rounds, in the time that is there from a moment on, and tells what came of them.
    pub(super) fn play(&self, out: &mut Writer, time: impl Fn(Nanos) -> Nanos) -> Result<(), Error> {
        let act = self.act;
        println!("\n{}", act.title());
        let [foreground, background] = act.about();
        println!("foreground: {foreground}\nbackground: {background}");
        let contenders = self.contenders(out)?;
        let turns = u64::from(self.args.rounds) * contenders.len() as u64;
        let length = match self.args.seconds {
            Some(seconds) => Nanos(whole(seconds * 1e9)),
            None => counted(time(clock::now()), turns, act.warmup().plus(AROUND)),
        };
        let window = Window { warmup: act.warmup(), length };
        let rounds = usize::try_from(self.args.rounds).unwrap_or(usize::MAX);
        println!(
            "{} of {} turns, {:.1} s each\n",
            count(rounds, "round"),
            contenders.len(),
            length.as_secs_f64()
        );
        for round in 1..=self.args.rounds {
            // The first round keeps the order of the story; later ones are shuffled.
            let order = if round == 1 {
                contenders.clone()
            } else {
                ledger::shuffled(&contenders, self.case, SEED, round)
            };
            for (position, contender) in order.iter().enumerate() {
                let heading = format!("round {round}/{}  {:12}", self.args.rounds, contender.name());
                let mut display = Display::new(heading, act);
                let run = self.turn(contender, round, window, &mut display)?;
                let run = Run { position, ..run };
                display.finish(&run);
                out.append(&Record::Run(run))?;
            }
        }
        self.tell()
    }

    /// Who can run here, in the order of the story; the others are told.
    fn contenders(&self, out: &mut Writer) -> Result<Vec<Contender>, Error> {
        let flags = self.args.lull_flags.split_whitespace().map(str::to_owned).collect();
        let mut all = vec![Contender::Alone];
        all.extend(self.act.rivals());
        all.extend([Contender::Lull(flags), Contender::Solo]);
        let mut able = Vec::new();
        for contender in all {
            match contender.obstacle(None, self.program) {
                None => {
                    println!("{}", contender.about(self.program));
                    able.push(contender);
                }
                Some(detail) => {
                    println!("not shown: {}: {detail}", contender.name());
                    let (case, contender) = (self.case.to_owned(), Some(contender.name()));
                    out.append(&Record::Unmet(Unmet { case, contender, detail }))?;
                }
            }
        }
        Ok(able)
    }

    /// One contender's turn.
    fn turn(
        &self,
        contender: &Contender,
        round: u32,
        window: Window,
        display: &mut Display<'_>,
    ) -> Result<Run, Error> {
        // Dropped after everything that runs in it.
        let group = contender.group()?;
        let job = if contender.has_background() {
            Some(self.act.job(self.program)?.under(contender, group.as_ref(), self.program))
        } else {
            None
        };
        let foreground = contender.has_foreground().then(|| self.act.foreground(round));
        thread::sleep(SETTLE);
        let around = Around::begin();
        let run =
            trial::run(foreground.as_ref(), job, window, self.program, &mut |tick| display.show(&tick))?;
        Ok(Run {
            case: self.case.to_owned(),
            contender: contender.name(),
            round,
            control: group.iter().flat_map(|group| group.typed().iter().cloned()).collect(),
            disturbance: around.end().and_then(|spent| spent.beside(None, None)),
            ..run
        })
    }

    /// Table, sentence and picture.
    fn tell(&self) -> Result<(), Error> {
        let directory = &self.args.dir;
        let records = record::read(directory)?;
        let study = Study::of(&records);
        let Some(case) = study.cases.iter().find(|case| case.case == self.case) else { return Ok(()) };
        println!("\n{}", table::short(case, table::Form::Text));
        println!(
            "mean, p90, p99: latency over that of alone in the same round; background: work over that of solo;\n\
             median [smallest-largest] of {}\n",
            count(usize::try_from(self.args.rounds).unwrap_or(usize::MAX), "round")
        );
        if let Some(sentence) = conclusion::conclusion(case) {
            println!("{sentence}\n");
        }
        if let Some(warning) = conclusion::stolen(&records, self.case) {
            println!("{warning}\n");
        }
        let panels = [
            Panel::of(
                "foreground p99 latency (shorter is better)",
                &case.rows,
                |row| row.p99_ns,
                |value| Nanos(whole(value)).to_string(),
            ),
            Panel::of(
                "background work (longer is better)",
                &case.rows,
                |row| row.bytes_per_s,
                |value| self.act.speed(value),
            ),
        ];
        let path = directory.join(format!("{}.svg", self.case));
        picture::bars(&path, self.act.title(), &panels)?;
        println!("picture: {}", std::path::absolute(&path).unwrap_or_else(|_| path.clone()).display());
        let windows = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
        if windows {
            // Nobody may have xdg-open; the path is printed anyway.
            let _ = Command::new("xdg-open").arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        }
        Ok(())
    }
}

/// Counted time of each of so many turns that have this time together; `besides` is what each of them takes
/// more.
fn counted(time: Nanos, turns: u64, besides: Nanos) -> Nanos {
    let [least, most] = COUNTED;
    Nanos(time.as_nanos() / turns.max(1)).since(besides).clamp(least, most)
}

/// The line that is rewritten while a turn runs.
struct Display<'a> {
    heading: String,
    act: &'a dyn Act,
    live: bool,
    shown_at: Nanos,
    foreground: String,
}

/// Columns of what is told about the foreground.
const WIDTH: usize = 45;

impl<'a> Display<'a> {
    fn new(heading: String, act: &'a dyn Act) -> Self {
        let live = std::io::stdout().is_terminal();
        Self { heading, act, live, shown_at: Nanos::ZERO, foreground: String::new() }
    }

    fn show(&mut self, tick: &Tick) {
        if let Some(period) = &tick.foreground {
            self.foreground = latencies(&period.latency);
        }
        let now = clock::now();
        if !self.live || now.since(self.shown_at) < Nanos::from_millis(500) {
            return;
        }
        self.shown_at = now;
        self.rewrite(&self.line(&self.foreground, tick.background_rate));
    }

    fn finish(&self, run: &Run) {
        let foreground = run.foreground.as_ref().and_then(|report| report.latency);
        let foreground = foreground.map_or_else(String::new, |latency| latencies(&latency));
        let text = self.line(&foreground, run.background.as_ref().map(Background::rate));
        if self.live {
            self.rewrite(&text);
            println!();
        } else {
            println!("{text}");
        }
    }

    fn line(&self, foreground: &str, per_s: Option<f64>) -> String {
        let speed =
            per_s.map_or_else(String::new, |per_s| format!("background {:>12}", self.act.speed(per_s)));
        format!("{}  {foreground:WIDTH$}{speed}", self.heading).trim_end().to_owned()
    }

    fn rewrite(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A terminal that is gone ends the demo by its signal; a failed write of the live line is nothing to
        // report.
        let _ = write!(out, "\r{text}\x1b[K").and_then(|()| out.flush());
    }
}

fn latencies(latency: &Latency) -> String {
    let [mean, p90, p99] = [latency.mean_ns, latency.p90_ns, latency.p99_ns].map(|ns| Nanos(ns).to_string());
    format!("mean {mean:>7}  p90 {p90:>7}  p99 {p99:>7}")
}

#[cfg(test)]
mod tests;
