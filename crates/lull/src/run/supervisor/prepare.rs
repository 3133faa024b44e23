//! What the supervisor does before the job's filter stands: as early as can be, and in the order in which the job needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use lull_api::SensorChoice;
use lull_bpf::Restart;
use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;
use lull_linux::clock;
use lull_linux::job::shared::Shared;
use lull_linux::marks::{Mark, MarkSet, Plain, let_others_run};
use lull_linux::seccomp::Scope;

use super::aims::{hold_by, net_aim};
use super::front_channel::FrontChannel;
use super::inputs::Inputs;
use crate::run::adjust;
use crate::run::first_look::FirstLook;
use crate::run::net::queues::Queues;
use crate::run::release::{self, Wishes};
use crate::run::settings::{LendNet, RunSettings};
use crate::run::slo::{Complaints, Slo};
use lull_engine::hold_gate::HoldGate;
use lull_engine::job_processes::JobProcesses;
use lull_engine::memory::aim::{Begins, MemoryAim};
use lull_engine::memory::exchange::Pages;
use lull_engine::memory::start::MemoryStart;
use lull_engine::net::Net;
use lull_engine::nudge::Nudge;
use lull_engine::priority::{LOWEST, set_weight};
use lull_engine::reader::ReadAhead;

/// Sleeping may not overshoot: the interval is as short as tens of microseconds.
const TIMER_SLACK_NS: libc::c_ulong = 1;

/// What stands before the filter does.
pub(crate) struct Prepared {
    pub(crate) settings: RunSettings,
    pub(crate) front: FrontChannel,
    pub(crate) shared: Arc<Shared>,
    pub(crate) queues: Queues,
    pub(crate) born: Nanos,
    pub(crate) status_every: Option<Nanos>,
    /// The marks that this process was born with.
    pub(crate) plain: Plain,
    /// A first look at the disks.
    pub(crate) quiet: Option<FirstLook>,
    pub(crate) nudge: Arc<Nudge>,
    /// The user's own measure, and what is wrong with it.
    pub(crate) slo: (Option<Slo>, Complaints),
    pub(crate) job_processes: JobProcesses,
    pub(crate) hold: HoldGate,
    pub(crate) net: Option<Net>,
    /// Lets trapped calls begin again after a signal.
    pub(crate) restart: Option<Restart>,
    pub(crate) memory: Option<MemoryStart>,
    pub(crate) pages: Pages,
    pub(crate) read_ahead: ReadAhead,
    /// What `lull set` asks for.
    pub(crate) wishes: Wishes,
    /// Whether the command has ended, for whoever asks by another thread.
    pub(crate) has_ended: Arc<AtomicBool>,
}

/// Does what must not wait for the filter; `None` if this process cannot even be woken.
pub(crate) fn prepare(inputs: Inputs) -> Option<Prepared> {
    let Inputs { mut settings, channel, shared, group, notes, born, status_every, queues } = inputs;
    let mut front = FrontChannel::new(channel, notes);
    let plain = Plain::of_self();
    // SAFETY: plain integers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0) };
    let quiet = settings.watches_disks.then(FirstLook::begin);
    let nudge = Nudge::new().map(Arc::new).ok()?;
    // The user's measure is not background: it begins before this process is.
    let slo = start_measure(&settings, &mut front, &nudge);
    let job_processes = JobProcesses::of_supervisor(group.as_ref());
    let restart = begin_restart(&settings, &job_processes);
    let hold = HoldGate::new(
        hold_by(settings.asked.holding.hold),
        group,
        job_processes.clone(),
        Arc::clone(&shared),
    );
    if !hold.can_hold() {
        settings.hold = None;
    }
    // The job's sockets are marked when they are made, so it waits for this: at full priority.
    let net = start_net(&settings, &mut front, &job_processes);
    become_background();
    let (pages, read_ahead) = (Pages::default(), ReadAhead::default());
    // The job may read before the listener stands: as early as can be.
    let memory = start_memory(&settings, &mut front, &hold, &job_processes, &read_ahead, (&pages, &nudge));
    let has_ended = Arc::new(AtomicBool::new(false));
    // The job's first trapped call may come at once.
    let restart = restart.and_then(|loading| loading.join().ok().flatten());
    let wishes = serve_wishes(&settings, &mut front, memory.as_ref(), &job_processes, (&has_ended, &nudge));
    Some(Prepared {
        settings,
        front,
        shared,
        queues,
        born,
        status_every,
        plain,
        quiet,
        nudge,
        slo,
        job_processes,
        hold,
        net,
        restart,
        memory,
        pages,
        read_ahead,
        wishes,
        has_ended,
    })
}

fn start_measure(
    settings: &RunSettings,
    front: &mut FrontChannel,
    nudge: &Arc<Nudge>,
) -> (Option<Slo>, Complaints) {
    let complaints = Complaints::default();
    let slo = settings.asked.protection.slo.as_ref().and_then(|choice| {
        let nudge = Arc::clone(nudge);
        let failed = |error| front.unmet.push(format!("--slo: cannot start a shell: {error}"));
        Slo::start(choice, &complaints, move || nudge.give()).map_err(failed).ok()
    });
    (slo, complaints)
}

/// The network, if it was named and can be had.
fn start_net(settings: &RunSettings, front: &mut FrontChannel, job_processes: &JobProcesses) -> Option<Net> {
    if settings.net != LendNet::AtOnce {
        return None;
    }
    let started = match settings.asked.disks.sensor {
        SensorChoice::Diskstats => Err("the network needs the BPF sensor: it is left as it is".to_owned()),
        SensorChoice::Auto | SensorChoice::Bpf => {
            Net::start(&net_aim(settings), job_processes.v2_group(), clock::now())
        }
    };
    match started {
        Ok((net, notes)) => {
            front.notes.extend(notes);
            Some(net)
        }
        Err(why) => {
            front.unmet.push(format!("--resources net: {why}"));
            None
        }
    }
}

/// Begins to load what lets trapped calls begin again after a signal; where it cannot be had, a signal ends one now and then.
fn begin_restart(
    settings: &RunSettings,
    job_processes: &JobProcesses,
) -> Option<JoinHandle<Option<Restart>>> {
    let is_wanted = settings.scope != Scope::None && settings.asked.disks.sensor != SensorChoice::Diskstats;
    let job = job_processes.job();
    let load = || std::thread::Builder::new().spawn(move || Restart::load(job).ok()).ok();
    is_wanted.then(load).flatten()
}

/// What is read ahead for the job is background too, and deciding for it must not take the CPU from the
/// foreground. Not SCHED_IDLE: a held job must be let go in time. Under autogroup nice counts only within the
/// session, which is the supervisor's own; the file is missing without autogroup.
fn become_background() {
    let _ = MarkSet::default().with(Mark::IoprioIdle).apply();
    set_weight(std::process::id(), LOWEST);
    let_others_run();
}

fn start_memory(
    settings: &RunSettings,
    front: &mut FrontChannel,
    hold: &HoldGate,
    job_processes: &JobProcesses,
    read_ahead: &ReadAhead,
    told: (&Pages, &Arc<Nudge>),
) -> Option<MemoryStart> {
    let aim = settings.memory?;
    // Signals are too coarse for holds as short as a writer's.
    let is_prompt = hold.is_prompt();
    let aim = MemoryAim { longest_hold: aim.longest_hold.filter(|_| is_prompt), ..aim };
    let apart = hold.group().and_then(JobGroup::memory);
    let begun = MemoryStart::begin(aim, job_processes, apart, read_ahead, told);
    if let Some(why) = begun.as_ref().err().filter(|_| aim.begins == Begins::AtOnce) {
        front.unmet.push(format!("--resources memory: {why}"));
    }
    begun.ok()
}

/// From now on `lull set` reaches this run.
fn serve_wishes(
    settings: &RunSettings,
    front: &mut FrontChannel,
    memory: Option<&MemoryStart>,
    job_processes: &JobProcesses,
    (has_ended, nudge): (&Arc<AtomicBool>, &Arc<Nudge>),
) -> Wishes {
    let room = settings.memory.map(|aim| aim.room).unwrap_or_default();
    // SAFETY: only asks.
    let pid = u32::try_from(unsafe { libc::getppid() }).unwrap_or(0);
    // A job without processes in its group may have moved them to others of its own.
    let is_over = {
        let (has_ended, job_processes) = (Arc::clone(has_ended), job_processes.clone());
        move || has_ended.load(Ordering::SeqCst) && job_processes.pids().is_empty()
    };
    let (asker, wishes) = {
        let has_ended = Arc::clone(has_ended);
        release::line(nudge, move || has_ended.load(Ordering::SeqCst))
    };
    if let Err(error) = adjust::serve(pid, room, memory.map(MemoryStart::room_setter), asker, is_over) {
        front.notes.push(format!("lull set cannot reach this run: {error}"));
    }
    wishes
}
