//! `lull run`: a command as background work.
//!
//! | module | idea |
//! |---|---|
//! | [`args`] | the command line |
//! | [`settings`], [`protect`] | what was asked for ([`lull_api`]), in the terms of those who do it |
//! | [`front`] | what the shell sees: waits for the job, mirrors its stops and its end |
//! | [`helper`] | forking the two helper processes |
//! | [`supervisor`] | the engine's process: what it prepares, watches, tells, and how it ends |
//! | [`guardian`] | what happens when the supervisor is dead |
//! | [`marks`](mod@marks), [`bare`] | what lowers the job; the command without lull, for who would rather have it run than be told |
//! | [`first_look`] | whether calls may pass until the sensors stand |
//! | [`slo`] | the user's own measure of the foreground |
//! | [`adjust`], [`release`](mod@release) | changing a run while it runs; letting go what the command has left behind |
//! | [`net`], [`net_obstacle`] | the network's options, queues that are arranged while the job runs, and why it is left as it is |
//! | [`messages`], [`status`], [`summary`], [`notify`] | what is told to whom |
//!
//! What holds the job and lends it the machine is in [`lull_engine`].

pub(crate) mod adjust;
mod args;
pub(crate) mod bare;
mod first_look;
mod forwarded;
mod front;
mod guardian;
pub(crate) mod helper;
mod marks;
mod messages;
pub(crate) mod net;
mod net_obstacle;
mod notify;
mod protect;
mod release;
pub(crate) mod settings;
pub(crate) mod slo;
mod status;
pub(crate) mod summary;
mod supervisor;

use std::cell::RefCell;
use std::ffi::CString;
use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, bail};
use lull_api::{Given, HoldChoice, ResourceChoice, SensorChoice, StatusChoice};
use lull_core::Nanos;
use lull_engine::hold_gate;
use lull_engine::job_processes::{GUARDIAN, SUPERVISOR};
use lull_engine::memory::aim::Begins;
use lull_engine::memory::leftover::Leftover;
use lull_linux::cgroup::{CPU_QUOTA, FREEZE, GroupName, JobGroup, Reach};
use lull_linux::clock;
use lull_linux::gate::stop;
use lull_linux::job::launch::{self, Launch, Report};
use lull_linux::job::passing::{Channel, Packet};
use lull_linux::job::shared::Shared;
use lull_linux::marks::enter;
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;
use lull_linux::seccomp::Listener;
use lull_linux::seccomp::filter::{self, Wants};
use lull_linux::systemd;
use nix::unistd::{ForkResult, Pid, fork};

pub(crate) use args::RunArgs;
use bare::{cannot_run, run_alone};
use front::{Ending, Front, Helpers, Inherited, Respawn};
use guardian::Guardian;
use marks::marks;
use messages::{FromSupervisor, ToGuardian, ToSupervisor};
use net::queues::{QueueSummary, Queues, arrange, locks, release, remarks};
use net_obstacle::{Obstacle, obstacle};
use notify::Relay;
use settings::{LendNet, RunSettings};
use status::StatusLine;
use summary::Summary;

/// How long the helpers may take to get ready before the job starts without them.
const READY_MS: i32 = 3_000;
/// What is told when the supervisor has ended before the job did.
fn lost(how: &str) -> String {
    format!("the supervisor {how}; from then on the job ran at low priority, ungated")
}

/// Runs the command and ends as it does.
///
/// # Errors
/// When lull itself fails before the command has started.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<std::convert::Infallible> {
    begin(args)?.end()
}

/// A command that runs, and how to tell of it.
pub(crate) struct Begun {
    started: Started,
    settings: RunSettings,
    words: Vec<String>,
    summary_file: Option<std::fs::File>,
}

/// Starts the command.
///
/// # Errors
/// When lull itself fails before the command has started: it has not, then.
pub(crate) fn begin(args: &RunArgs) -> anyhow::Result<Begun> {
    let born = clock::now();
    let file = lull_api::file::read(args.this.config.as_deref())?;
    let settings = settings::settle(Given::new(args.said.clone(), file)?, args.this.clone())?;
    let command = launch::Command::new(args.command.iter().map(|word| word.as_bytes().to_vec()))
        .context("the command holds a zero byte")?;
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let summary_file = settings.this.summary.as_ref().map(|path| {
        summary::open(path).with_context(|| format!("cannot write the summary to {}", path.display()))
    });
    let summary_file = summary_file.transpose()?;
    let started = start(&settings, &command, &words, born)?;
    if let Some(text) = settings.asked.protection.policy.forewarning().filter(|_| !settings.this.quiet) {
        status::say(&text);
    }
    Ok(Begun { started, settings, words, summary_file })
}

impl Begun {
    /// Waits for the command and ends as it does.
    ///
    /// # Errors
    /// Only when waiting itself is impossible.
    pub(crate) fn end(self) -> anyhow::Result<std::convert::Infallible> {
        let Self { started, settings, words, summary_file } = self;
        let (outcome, queues, left) = started.run(wants_summary(&settings) || has_wishes(&settings));
        let outcome = outcome?;
        let silent = outcome.summary.is_none() && outcome.lost_supervisor.is_none();
        let mut summary = outcome.summary.map_or_else(Summary::default, |summary| *summary);
        if silent {
            summary.notes.push("the supervisor did not answer in time: its numbers are missing".to_owned());
        }
        summary.command = words;
        summary.notes.extend(left);
        summary.queues = queues;
        summary.wall_ns = outcome.wall.0;
        // The supervisor goes on for a moment after the job's end.
        summary.held_ns = summary.held_ns.min(summary.wall_ns);
        // Its child began before the command did.
        summary.starved_ns = summary.starved_ns.map(|starved_ns| starved_ns.min(summary.wall_ns));
        summary.status = Some(outcome.ending.status());
        if let Some(text) = outcome.lost_supervisor.as_deref().map(lost) {
            // Where a summary is shown, it is in there.
            if !settings.this.quiet && (summary_file.is_some() || !wants_summary(&settings)) {
                status::say(&text);
            }
            summary.notes.push(text);
        }
        report(&settings, &summary, summary_file);
        front::end_like(outcome.ending)
    }
}

/// Writes the summary to where it was asked for.
fn report(settings: &RunSettings, summary: &Summary, file: Option<std::fs::File>) {
    let text = if settings.this.json { format!("{}\n", summary.json()) } else { summary.text() };
    let tell_unmet = || summary.unmet.iter().for_each(|unmet| status::say(unmet));
    if let Some(mut file) = file {
        if let Err(error) = file.write_all(text.as_bytes()) {
            status::say(&format!("cannot write the summary: {error}"));
        }
        tell_unmet();
    } else if wants_summary(settings) {
        // A closed stderr is the user's choice.
        let _ = std::io::stderr().write_all(text.as_bytes());
    } else {
        tell_unmet();
    }
}

/// Whether something was asked for that may not be had; that is told whoever reads the summary.
fn has_wishes(settings: &RunSettings) -> bool {
    settings.asked.disks.sensor == SensorChoice::Bpf
        || settings.asked.protection.slo.is_some()
        || settings.net == LendNet::AtOnce
        || settings.memory.is_some_and(|aim| aim.begins == Begins::AtOnce)
        || settings.asked.protection.resources.contains(&ResourceChoice::Cpu)
        || (settings.watches_disks && !settings.protect.is_everything())
}

/// Whether anybody will see the summary.
fn wants_summary(settings: &RunSettings) -> bool {
    settings.this.summary.is_some()
        || settings.this.json
        || (!settings.this.quiet && std::io::stderr().is_terminal())
}

/// A running job with its front.
struct Started {
    front: Front,
    group: Option<JobGroup>,
    leftover: Leftover,
    queues: Queues,
    guardian_channel: GuardianChannel,
    release_leftovers: bool,
}

impl Started {
    /// Until the command has ended; with what it has left behind, for people.
    fn run(self, wants_summary: bool) -> (anyhow::Result<front::Outcome>, Vec<QueueSummary>, Option<String>) {
        let outcome = self.front.run(wants_summary);
        if let Ok(bye) = serde_json::to_vec(&ToGuardian::Bye) {
            // A dead guardian needs no farewell.
            let _ = self.guardian_channel.borrow().send(&bye, None);
        }
        // Otherwise the guardian gives them back, when the job's last process has ended.
        let is_over = hold_gate::is_empty(self.group.as_ref());
        let queues = QueueSummary::at_end(&self.queues, is_over);
        let left = if is_over || self.release_leftovers {
            None
        } else {
            release::leftovers(self.group.as_ref(), std::process::id())
        };
        // What is left of the job is still held and bounded by a supervisor that answers.
        let is_tended = outcome.as_ref().is_ok_and(|outcome| {
            outcome.lost_supervisor.is_none() && (outcome.summary.is_some() || !wants_summary)
        });
        if is_over || !is_tended {
            hold_gate::remove_if_empty(self.group, &self.leftover);
        }
        (outcome, queues, left)
    }
}

/// The job's control group and the scope in which it is, if it is in one, with what could not be had.
fn make_group(settings: &RunSettings, notes: &mut Vec<String>) -> (Option<JobGroup>, Option<systemd::Scope>) {
    let root = Root::real();
    let mut facts = CgroupFacts::read(&root, true);
    lull_linux::leftovers::sweep(&root, &facts);
    let scope = facts.ask_systemd(&root).unwrap_or_else(|error| {
        notes.push(error.to_string());
        None
    });
    let name = GroupName::next(&root);
    let mut group = JobGroup::create(&name, &facts);
    if settings.memory.is_some() {
        group.account_memory(&name, &facts);
    }
    let why_no =
        |what| group.missing().iter().find(|missing| missing.what == what).map(|missing| &missing.why);
    match settings.asked.holding.hold {
        HoldChoice::Quota => notes.extend(why_no(CPU_QUOTA).map(|why| {
            format!(
                "the whole job is not held, only its large calls: no CPU quota for its control group: {why}; --hold freeze would stop it"
            )
        })),
        HoldChoice::Freeze => notes.extend(
            why_no(FREEZE).map(|why| format!("no control group to freeze the job with, so by signals: {why}")),
        ),
    }
    if settings.asked.protection.policy.marks_job()
        && let Err(error) = group.set_idle_cpu()
    {
        notes.push(error.to_string());
    }
    if settings.asked.protection.policy.marks_job() {
        notes.extend(bounded(&group.reach(&facts)));
    }
    ((!group.paths().is_empty()).then_some(group), scope)
}

/// What a reader should know of a class that does not count against everybody.
fn bounded(reach: &Reach) -> Option<String> {
    let inside = match reach {
        Reach::Everybody => return None,
        Reach::Within(group) => {
            format!("inside {}, which weighs as much as before beside others", group.display())
        }
        Reach::Session => {
            "inside its own session or control group, which weighs as much as before beside others".to_owned()
        }
    };
    Some(format!("the job's CPU class counts only {inside}; lull doctor says what would help"))
}

/// The job's group until the job has begun: what fails before leaves none behind.
struct Unbegun(Option<JobGroup>);

impl Unbegun {
    fn begun(mut self) -> Option<JobGroup> {
        self.0.take()
    }
}

impl Drop for Unbegun {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.remove_unused();
        }
    }
}

fn pidfd(pid: Pid) -> Option<OwnedFd> {
    // SAFETY: integers in, a descriptor or an error out.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: made for us just now.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A helper's own handle on the job's groups.
fn open_groups(paths: &[PathBuf]) -> Option<JobGroup> {
    JobGroup::open(paths).ok().filter(|_| !paths.is_empty())
}

/// How what the job does is told while it runs.
fn status_line(settings: &RunSettings) -> StatusLine {
    // A terminal that cannot move its cursor, like that of an editor's shell, is called dumb.
    let is_able = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    let wants_row =
        settings.asked.telling.status != StatusChoice::Never && is_able && std::io::stderr().is_terminal();
    match (settings.this.quiet, settings.asked.telling.status) {
        (true, _) => StatusLine::off(),
        (false, StatusChoice::Always) => StatusLine::on_row(wants_row).or_lines(),
        (false, _) => StatusLine::on_row(wants_row),
    }
}

/// The guardian's end of the front: replaced when the guardian is.
type GuardianChannel = Rc<RefCell<Channel>>;

/// Forks helpers and job, and lets the job go once someone answers its trapped calls.
fn start(
    settings: &RunSettings,
    command: &launch::Command,
    words: &[String],
    born: Nanos,
) -> anyhow::Result<Started> {
    let shared = Arc::new(Shared::new().context("no memory to share with the helpers")?);
    // Before the group is made: a queue that is refused ends the run here.
    let queues = arrange(&settings.qdiscs)?;
    if !settings.this.quiet {
        remarks(&queues).iter().for_each(|remark| status::say(remark));
    }
    let mut notes = Vec::new();
    let (group, scope) = make_group(settings, &mut notes);
    let group = Unbegun(group);
    let mut settings = settings.clone();
    let paths = group.0.as_ref().map(JobGroup::paths).unwrap_or_default();
    if settings.net == LendNet::WhenUsed
        && let Some(obstacle) = obstacle(&settings, &paths)
    {
        settings.net = LendNet::Never;
        if let Obstacle::Missing(what) = obstacle {
            notes.push(format!("{what}: the network is left as it is; lull doctor says what would help"));
        }
    }
    let settings = &settings;
    let (signals, inherited) = front::take_signals()?;
    if paths.is_empty() {
        // Without a group the job is told by its descent, which must not end with a parent in between.
        let _ = nix::sys::prctl::set_child_subreaper(true);
    }
    let status = status_line(settings);
    let leftover = Leftover { aim: settings.memory, born };
    let heritage = Heritage {
        shared: Arc::clone(&shared),
        groups: paths,
        leftover,
        queues: Arc::clone(&queues),
        terminal_rows: status.rows(),
    };

    let (to_supervisor, supervisor_end) = Channel::pair().context("cannot make a channel")?;
    let mut inputs = supervisor::inputs::Inputs {
        settings: settings.clone(),
        channel: supervisor_end,
        shared: Arc::clone(&shared),
        group: None,
        notes,
        born,
        status_every: status.every(),
        queues: Arc::clone(&queues),
    };
    let keep: Vec<RawFd> = locks(&queues).chain([inputs.channel.as_raw_fd()]).collect();
    let groups = heritage.groups.clone();
    let supervisor = helper::spawn(SUPERVISOR, &keep, move || {
        inputs.group = open_groups(&groups);
        supervisor::run(inputs);
    });
    let alone = |error| {
        release(&queues);
        run_alone(error, settings, command, words, &inherited)
    };
    let supervisor = match supervisor {
        Ok(pid) => pid,
        Err(error) => {
            drop(group);
            return Err(alone(error));
        }
    };
    let (guardian, to_guardian) = match heritage.spawn_guardian(Some(supervisor), None, true) {
        Ok(guardian) => guardian,
        Err(error) => {
            drop((group, to_supervisor));
            return Err(alone(error));
        }
    };
    let guardian_channel = Rc::new(RefCell::new(to_guardian));

    let (to_job, job_end) = Channel::pair().context("cannot make a channel")?;
    let relay = Relay::start();
    let notify = relay.as_ref().map(Relay::name);
    let job = match fork_job(settings, command, group.0.as_ref(), &inherited, notify, [&to_job, &job_end]) {
        Ok(job) => job,
        Err(error) => {
            drop((group, to_supervisor, guardian_channel));
            return Err(alone(error));
        }
    };
    drop(job_end);
    let report = launch::next_report(&to_job).context("the job was lost before it began")?;
    let listener = hand_over(report, &to_supervisor, &guardian_channel.borrow())?;
    if let Some(scope) = scope {
        // The job has entered its group by itself, where it may.
        for path in &heritage.groups {
            if let Err(error) = scope.attach(&Root::real(), job.as_raw(), path) {
                status::say(&error.to_string());
            }
        }
    }
    front::pass_on_early(&signals, job);
    to_job.send(b"g", None).context("the job was lost before it began")?;
    if let Ok(Report::ExecFailed(error)) = launch::next_report(&to_job) {
        let status = cannot_run(&error, words);
        let _ = nix::sys::wait::waitpid(job, None);
        release(&queues);
        hold_gate::remove_if_empty(group.begun(), &leftover);
        front::end_like(Ending::Exited(status));
    }
    let group = group.begun();
    send(&to_supervisor, &ToSupervisor::Begun, None);
    front::release_standard_streams();
    let helpers = Helpers {
        supervisor: Some(supervisor),
        guardian: Some(guardian),
        channel: to_supervisor,
        listener: listener.clone(),
        shared,
        let_go: releaser(heritage.groups.clone(), Arc::clone(&heritage.shared)),
        respawn: respawner(heritage, listener, Rc::clone(&guardian_channel)),
    };
    let front = Front::new(job, signals, helpers, status, relay);
    let release_leftovers = settings.asked.holding.release_leftovers;
    Ok(Started { front, group, leftover, queues, guardian_channel, release_leftovers })
}

/// Forks the job up to the point where it waits for the word to go.
fn fork_job(
    settings: &RunSettings,
    command: &launch::Command,
    group: Option<&JobGroup>,
    inherited: &Inherited,
    notify: Option<CString>,
    [front_end, job_end]: [&Channel; 2],
) -> anyhow::Result<Pid> {
    let entries = group.map(JobGroup::entries).unwrap_or_default();
    let marks = marks(settings);
    let set_marks = || {
        // A group that cannot be entered, or a mark that is refused, is doctor's to tell: the job runs with less.
        let _ = enter(&entries);
        let _ = marks.apply();
    };
    let wants = Wants {
        scope: settings.scope,
        io_uring: settings.io_uring,
        sockets: settings.net == LendNet::WhenUsed,
        affinity: settings.traps_affinity,
    };
    let program = filter::program(wants);
    let launch = Launch {
        command,
        program: &program,
        traps: wants.traps(),
        set_marks: &set_marks,
        mask: *inherited.mask.as_ref(),
        notify,
    };
    let other_end = front_end.as_raw_fd();
    // SAFETY: the front has one thread.
    match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            // SAFETY: the front's end is the front's; while it is open here, the front's death would go unnoticed.
            unsafe { libc::close(other_end) };
            inherited.restore_dispositions();
            // SAFETY: just forked from a process with one thread.
            unsafe { launch.run(job_end) }
        }
    }
}

/// Passes the listener on to both helpers and waits until they serve.
fn hand_over(
    report: Report,
    supervisor: &Channel,
    guardian: &Channel,
) -> anyhow::Result<Option<Arc<Listener>>> {
    let listener = match report {
        Report::Listener(fd) => {
            send(guardian, &ToGuardian::Listener, Some(fd.as_raw_fd()));
            send(supervisor, &ToSupervisor::Listener, Some(fd.as_raw_fd()));
            Some(Arc::new(Listener::new(fd)))
        }
        Report::NoListener(error) => {
            let why = error.map(|error| match error.raw_os_error() {
                Some(libc::EBUSY) => {
                    "no request gate of its own: an outer lull or container traps calls already".to_owned()
                }
                _ => format!("no request gate: the kernel refuses the seccomp filter ({error})"),
            });
            send(guardian, &ToGuardian::NoListener, None);
            send(supervisor, &ToSupervisor::NoListener(why), None);
            None
        }
        Report::ExecFailed(_) | Report::Closed => bail!("the job was lost before it began"),
    };
    let is_serving = |bytes: &[u8]| matches!(serde_json::from_slice(bytes), Ok(FromSupervisor::Serving));
    wait_for(guardian, |_| true);
    wait_for(supervisor, is_serving);
    Ok(listener)
}

fn send<T: serde::Serialize>(channel: &Channel, message: &T, fd: Option<RawFd>) {
    if let Ok(bytes) = serde_json::to_vec(message) {
        // A helper that is dead by now is noticed by its exit.
        let _ = channel.send(&bytes, fd);
    }
}

/// Waits for the message that `is_it`, for the helper's death, or until it has had time enough: whoever lives serves.
fn wait_for(channel: &Channel, is_it: impl Fn(&[u8]) -> bool) {
    let deadline = clock::now().plus(Nanos::from_millis(READY_MS.unsigned_abs().into()));
    while clock::now() < deadline {
        let mut poll = libc::pollfd { fd: channel.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid record.
        unsafe { libc::poll(&raw mut poll, 1, READY_MS) };
        match channel.receive(true) {
            Ok(Packet::Message(bytes, _)) if is_it(&bytes) => return,
            Ok(Packet::Message(..) | Packet::Nothing) => {}
            Ok(Packet::Closed) | Err(_) => return,
        }
    }
}

/// What every guardian is given.
struct Heritage {
    shared: Arc<Shared>,
    groups: Vec<PathBuf>,
    leftover: Leftover,
    queues: Queues,
    terminal_rows: Option<u16>,
}

impl Heritage {
    /// Forks a guardian; returns it with the front's end of its channel.
    fn spawn_guardian(
        &self,
        supervisor: Option<Pid>,
        listener: Option<Arc<Listener>>,
        awaits_listener: bool,
    ) -> anyhow::Result<(Pid, Channel)> {
        let (ours, theirs) = Channel::pair().context("cannot make a channel")?;
        let terminal = self.terminal_rows.and_then(|rows| {
            let fd = std::io::stderr().as_fd().try_clone_to_owned().ok()?;
            Some((fd, status::wipe(rows)))
        });
        let supervisor = supervisor.and_then(pidfd);
        let mut keep: Vec<RawFd> = locks(&self.queues).chain([theirs.as_raw_fd()]).collect();
        keep.extend(supervisor.as_ref().map(AsRawFd::as_raw_fd));
        keep.extend(listener.as_ref().map(|listener| listener.as_raw_fd()));
        keep.extend(terminal.as_ref().map(|(fd, _)| fd.as_raw_fd()));
        let (shared, groups) = (Arc::clone(&self.shared), self.groups.clone());
        let (queues, leftover) = (Arc::clone(&self.queues), self.leftover);
        let pid = helper::spawn(GUARDIAN, &keep, move || {
            let group = open_groups(&groups);
            Guardian {
                channel: theirs,
                listener,
                awaits_listener,
                shared,
                group,
                leftover,
                queues,
                supervisor,
                terminal,
            }
            .run();
        })?;
        Ok((pid, ours))
    }
}

/// Lets the job go for a front that is left alone.
fn releaser(groups: Vec<PathBuf>, shared: Arc<Shared>) -> Box<dyn Fn()> {
    Box::new(move || {
        stop::release(&shared);
        if let Some(group) = open_groups(&groups) {
            // A group that cannot be let go was never held.
            let _ = group.relieve();
        }
    })
}

/// Starts another guardian when one was killed. It inherits the listener.
fn respawner(heritage: Heritage, listener: Option<Arc<Listener>>, channel: GuardianChannel) -> Respawn {
    Box::new(move |supervisor| {
        let (pid, ours) = heritage.spawn_guardian(supervisor, listener.clone(), false)?;
        channel.replace(ours);
        Ok(pid)
    })
}
