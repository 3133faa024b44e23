//! What the supervisor does once the job's filter stands: it answers the job's calls, starts the sensors, and wires both to the engine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lull_api::{ResourceChoice, SensorChoice};
use lull_core::{IntervalChoice, Nanos};
use lull_linux::cgroup::JobGroup;
use lull_linux::clock;
use lull_linux::marks::IoClass;
use lull_linux::marks::sessions::Sessions;
use lull_linux::root::Root;
use lull_linux::seccomp::{Listener, Scope};
use lull_linux::systemd::sleep;

use super::aims::{disk_aim, net_aim, regulation};
use super::front_channel::FrontChannel;
use super::prepare::Prepared;
use super::running::Running;
use super::summary::Times;
use crate::run::messages::FromSupervisor;
use crate::run::settings::{LendNet, RunSettings};
use lull_engine::cpu::measure::UserMeasure;
use lull_engine::cpu::resource::CpuResource;
use lull_engine::disk;
use lull_engine::disk::calls::{Disks, Terms};
use lull_engine::engine::Engine;
use lull_engine::hold_gate::HoldGate;
use lull_engine::lock::lock;
use lull_engine::memory::resource::MemoryResource;
use lull_engine::net::resource::NetResource;
use lull_engine::nudge::Nudge;
use lull_engine::priority::at_normal_priority;
use lull_engine::regulator::Regulator;
use lull_engine::request_gate;
use lull_engine::thread;

/// Why the CPUs are not watched.
const CPUS_NEED_BPF: &str = "the CPUs are watched by BPF alone, which cannot be had or is not wanted; the kernel's priorities alone \
                             hold the job; `lull doctor` says more";

/// Why the calls are not held.
const NO_THREAD: &str = "this user may have no more threads (ulimit -u), and lull needs some: the job runs at low priority, ungated";

/// Watches the job; `None` where nobody can receive its calls: the guardian passes them, once this process has ended.
pub(crate) fn watch(prepared: Prepared, listener: Option<Arc<Listener>>) -> Option<Running> {
    let began = clock::now();
    let Prepared { settings, mut front, shared, nudge, job_processes, hold, .. } = prepared;
    let sleeps = Arc::new(AtomicBool::new(false));
    let disks = Disks::new(Terms {
        job_processes: job_processes.clone(),
        shared: Arc::clone(&shared),
        pages: prepared.pages,
        read_ahead: prepared.read_ahead,
        sleeps: Arc::clone(&sleeps),
        spares_the_oldest: settings.control.interval == IntervalChoice::Auto,
    });
    let mut engine =
        Engine::new(disks, settings.promise, hold.can_hold(), job_processes.clone(), Arc::clone(&sleeps));
    if let Some(memory) = prepared.memory {
        engine.register(MemoryResource::new(memory));
    }
    let when_used = (settings.net == LendNet::WhenUsed).then(|| net_aim(&settings));
    engine.register(NetResource::new(prepared.net, when_used, &job_processes, &nudge));
    let engine = Arc::new(Mutex::new(engine));
    let gone = Arc::new(AtomicBool::new(false));
    let receive = |listener: &Arc<Listener>| request_gate::serve(&engine, listener, &shared, &nudge, &gone);
    // An engine without disks passes every call that would use one.
    let passes_early = prepared.quiet.is_none_or(|quiet| quiet.lasts());
    if !listener.iter().filter(|_| passes_early).all(receive) {
        give_up(&front);
        return None;
    }
    if listener.is_some() {
        hear_of_sleep(sleeps, &nudge);
    }
    let aim = disk_aim(&settings);
    let start = || disk::start::start(&aim, &job_processes);
    // While calls pass it is in a hurry.
    let sensors = if passes_early { at_normal_priority(start) } else { start() };
    let (has_bpf, kind) = (sensors.has_bpf(), sensors.kind);
    front.notes.extend_from_slice(&sensors.notes);
    front.unmet.extend(unmet_of_disks(&settings, has_bpf));
    lock(&engine).disks.watch(sensors);
    if !listener.iter().filter(|_| !passes_early).all(receive) {
        give_up(&front);
        return None;
    }
    let io_class = io_class(&settings, &lock(&engine), has_bpf && listener.is_some());
    IoClass::Idle
        .change(|| [job_processes.pids(), vec![std::process::id().cast_signed()]].concat(), io_class);
    if let Some(regulation) = regulation(settings.asked.protection.policy) {
        lock(&engine).register(Regulator::new(regulation, &settings.protect.pids, &job_processes));
    }
    let sensing = clock::now();
    let is_refused = settings.watches_disks && !has_bpf;
    let wish = wish_for_cpus(&settings);
    if let Some(option) = wish
        && (is_refused || settings.asked.disks.sensor == SensorChoice::Diskstats)
    {
        front.unmet.push(format!("{option}: {CPUS_NEED_BPF}"));
    }
    let aim = settings.cpu.filter(|_| !is_refused && settings.asked.disks.sensor != SensorChoice::Diskstats);
    let (slo, complaints) = prepared.slo;
    let measure = slo.map(|slo| Box::new(slo) as Box<dyn UserMeasure>);
    let cpus = CpuResource::begin(
        aim,
        wish,
        (&settings.protect, &job_processes),
        (measure, Box::new(move || complaints.take())),
        (listener.clone(), Arc::clone(&shared)),
        &nudge,
    );
    lock(&engine).register(cpus);
    let sessions = lone_sessions(&settings, &hold);
    Some(Running {
        times: Times { born: prepared.born, began, sensing },
        sensor: kind,
        settings,
        front,
        engine,
        hold,
        job_processes,
        nudge,
        listener,
        _restart: prepared.restart,
        gone,
        io_class,
        sessions,
        plain: prepared.plain,
        queues: prepared.queues,
        wishes: prepared.wishes,
        has_ended: prepared.has_ended,
        status_every: prepared.status_every,
        told: Nanos::ZERO,
        cpu_so_far: [Nanos::ZERO; 2],
        has_begun: false,
        job_ended: false,
        front_gone: false,
    })
}

/// What was asked for and needs what is not there.
fn unmet_of_disks(settings: &RunSettings, has_bpf: bool) -> Vec<String> {
    let mut unmet = Vec::new();
    if has_bpf || !settings.watches_disks {
        return unmet;
    }
    if settings.asked.disks.sensor == SensorChoice::Bpf {
        unmet.push(
            "--sensor bpf: no BPF program may be loaded here, /proc/diskstats serves instead; `lull doctor` says why"
                .to_owned(),
        );
    }
    if !settings.protect.is_everything() {
        unmet.push("--protect needs the BPF sensor: all other work counts as foreground".to_owned());
    }
    unmet
}

fn give_up(front: &FrontChannel) {
    front.tell(&FromSupervisor::Told(NO_THREAD.to_owned()));
}

/// Nothing is held while the machine is about to sleep. Who has no thread to spare, or no bus, is not told.
fn hear_of_sleep(sleeps: Arc<AtomicBool>, nudge: &Arc<Nudge>) {
    let nudge = Arc::clone(nudge);
    thread::start(move || {
        let tell = |about_to: bool| {
            sleeps.store(about_to, Ordering::Relaxed);
            nudge.give();
        };
        let _ = sleep::hear(&Root::real(), tell);
        sleeps.store(false, Ordering::Relaxed);
    });
}

/// What suits the job now. `is_gated`: its calls are, and its requests are seen.
fn io_class(settings: &RunSettings, engine: &Engine, is_gated: bool) -> IoClass {
    let is_gated = is_gated && settings.scope != Scope::None && settings.asked.protection.policy.marks_job();
    if is_gated { IoClass::behind_a_gate(&Root::real(), engine.disks.names()) } else { IoClass::Idle }
}

/// The option by which the CPUs were asked for, if they were.
fn wish_for_cpus(settings: &RunSettings) -> Option<&'static str> {
    let is_named = settings.asked.protection.resources.contains(&ResourceChoice::Cpu);
    let by_measure = settings.asked.protection.slo.is_some().then_some("--slo");
    settings.cpu.and_then(|_| is_named.then_some("--resources cpu").or(by_measure))
}

/// Without an idle CPU group a session of the job's own weighs as much as the user's.
fn lone_sessions(settings: &RunSettings, hold: &HoldGate) -> Option<(Sessions, Nanos)> {
    let is_lone =
        settings.asked.protection.policy.marks_job() && !hold.group().is_some_and(JobGroup::has_idle_cpu);
    // SAFETY: both only ask; the front leads or shares the session in which the job was started.
    let (front, session) = unsafe { (libc::getppid(), libc::getsid(libc::getppid())) };
    is_lone.then(|| (Sessions::of_front(front, session), Nanos::ZERO))
}
