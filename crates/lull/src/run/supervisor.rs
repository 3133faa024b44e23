//! The supervisor: sensors, policy and gates in one process of its own session.
//!
//! ```text
//!  gate's threads                               loop thread
//!  ──────────────                               ───────────
//!  receive a trapped call ──▶ Engine::on_trap   wait: sensor wake-up, time, front, nudge
//!     pass at once, or list and nudge ────────▶ Engine::turn: pass what may go, hold or let go
//! ```
//!
//! It is killed at any moment without harm: the guardian lets the job go and passes its calls from then on.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lull_core::{IntervalChoice, Nanos};
use lull_linux::cgroup::JobGroup;
use lull_linux::clock;
use lull_linux::job::passing::{Channel, Packet};
use lull_linux::job::shared::Shared;
use lull_linux::marks::sessions::Sessions;
use lull_linux::marks::{IoClass, Mark, MarkSet, Plain, come_first, let_others_run};
use lull_linux::root::Root;
use lull_linux::seccomp::{Listener, Scope};
use lull_linux::systemd::sleep;

use super::adjust;
use super::cpu_start::CpuStart;
use super::engine::{Engine, Next};
use super::family::Family;
use super::gate::Gate;
use super::hold_gate::HoldGate;
use super::lock::lock;
use super::memory::aim::{Begins, MemoryAim};
use super::memory::shed::Shed;
use super::memory::start::MemoryStart;
use super::messages::{FromSupervisor, ToSupervisor};
use super::net::queues::{Queues, release as release_queues};
use super::net::when_used::WhenUsed;
use super::net::{self, Net};
use super::nudge::Nudge;
use super::priority::{LOWEST, at_normal_priority, set_weight};
use super::quiet::Quiet;
use super::reader::ReadAhead;
use super::regulator::Regulator;
use super::release;
use super::sensors::{self, Sensors};
use super::settings::{LendNet, ResourceChoice, RunSettings, SensorChoice};
use super::slo::{Complaints, Slo};
use super::tell;
use super::thread;

/// How often requests whose end was missed are looked for.
const HEAL_EVERY: Nanos = Nanos::from_millis(50);
/// How often sessions that the job has begun are looked for.
const SESSIONS_EVERY: Nanos = Nanos::from_secs(1);
/// How often to look whether the job's last process is gone, once its first is.
const GROUP_CHECK: Nanos = Nanos::from_millis(200);
/// How long an answer to `lull set` may take to be written before this process ends.
const GOODBYE: std::time::Duration = std::time::Duration::from_millis(100);
/// Sleeping may not overshoot: the interval is as short as tens of microseconds.
const TIMER_SLACK_NS: libc::c_ulong = 1;

/// Why the CPUs are not watched.
const CPUS_NEED_BPF: &str = "the CPUs are watched by BPF alone, which cannot be had or is not wanted; the kernel's priorities alone \
                             hold the job; `lull doctor` says more";

/// Why the calls are not held.
const NO_THREAD: &str = "this user may have no more threads (ulimit -u), and lull needs some: the job runs at low priority, ungated";

/// What the supervisor is born with.
pub(crate) struct Supervisor {
    pub(crate) settings: RunSettings,
    pub(crate) channel: Channel,
    pub(crate) shared: Arc<Shared>,
    pub(crate) group: Option<JobGroup>,
    pub(crate) notes: Vec<String>,
    /// What was asked for and could not be had.
    pub(crate) unmet: Vec<String>,
    pub(crate) born: Nanos,
    /// How often the front is told what its status line shows.
    pub(crate) status_every: Option<Nanos>,
    /// Interfaces whose queue goes back to what it was when the job has ended.
    pub(crate) queues: Queues,
}

/// The loop thread's sleep: until one of its descriptors is readable or a time has come.
struct Sleep {
    polls: [libc::pollfd; 5],
}

/// Places in [`Sleep`]; a negative descriptor there is never ready.
const NUDGE: usize = 0;
const FRONT: usize = 1;
const SENSOR: usize = 2;
const CPU_SENSOR: usize = 3;
const NET_SENSOR: usize = 4;

impl Sleep {
    fn new(fds: [RawFd; 5]) -> Self {
        Self { polls: fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }) }
    }

    fn is_ready(&self, place: usize) -> bool {
        self.polls[place].revents != 0
    }

    fn forget(&mut self, place: usize) {
        self.polls[place] = libc::pollfd { fd: -1, events: 0, revents: 0 };
    }

    fn watch(&mut self, place: usize, fd: RawFd) {
        self.polls[place].fd = fd;
    }

    fn is_forgotten(&self, place: usize) -> bool {
        self.polls[place].fd < 0
    }

    fn until(&mut self, until: Option<Nanos>) {
        let span = until.map(|until| until.since(clock::now()));
        let timeout = span.map(|span| libc::timespec {
            tv_sec: i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(span.0 % 1_000_000_000).unwrap_or(0),
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the records and the timeout live through the call.
        unsafe {
            libc::ppoll(self.polls.as_mut_ptr(), self.polls.len() as libc::nfds_t, timeout, std::ptr::null());
        }
    }
}

impl Supervisor {
    fn tell(&self, message: &FromSupervisor) {
        if let Ok(bytes) = serde_json::to_vec(message) {
            // A front that does not keep up misses a status line; a dead one misses everything.
            let _ = self.channel.send(&bytes, None);
        }
    }

    /// Waits for the front's word about the listener. `None`: the front is gone before the job began.
    fn wait_for_listener(&mut self) -> Option<Option<Arc<Listener>>> {
        loop {
            let Ok(Packet::Message(bytes, fd)) = self.channel.receive(false) else { return None };
            match (serde_json::from_slice(&bytes), fd) {
                (Ok(ToSupervisor::Listener), Some(fd)) => {
                    let listener = Listener::new(fd);
                    if !listener.wake_synchronously() {
                        self.notes.push("this kernel cannot wake the gate synchronously (Linux 6.6 can): a gated call takes about three times as long".to_owned());
                    }
                    return Some(Some(Arc::new(listener)));
                }
                (Ok(ToSupervisor::NoListener(why)), _) => {
                    self.notes.extend(why);
                    return Some(None);
                }
                _ => {}
            }
        }
    }

    /// The network, if it was named and can be had.
    fn start_net(&mut self, family: &Family) -> Option<Net> {
        if self.settings.net != LendNet::AtOnce {
            return None;
        }
        match Net::start(&self.settings, family.v2_group(), clock::now()) {
            Ok((net, notes)) => {
                self.notes.extend(notes);
                Some(net)
            }
            Err(why) => {
                self.unmet.push(format!("--resources net: {why}"));
                None
            }
        }
    }

    /// What suits the job now. `is_gated`: its calls are, and its requests are seen.
    fn io_class(&self, engine: &Engine, is_gated: bool) -> IoClass {
        let is_gated = is_gated && self.settings.scope != Scope::None && self.settings.policy.marks_job();
        let disks = engine.disks.iter().map(|disk| disk.traits.name.as_str());
        if is_gated { IoClass::behind_a_gate(&Root::real(), disks) } else { IoClass::Idle }
    }

    /// The option by which the CPUs were asked for, if they were.
    fn wish_for_cpus(&self) -> Option<&'static str> {
        let is_named = self.settings.named.contains(&ResourceChoice::Cpu);
        let by_measure = self.settings.slo.is_some().then_some("--slo");
        self.settings.cpu.and_then(|_| is_named.then_some("--resources cpu").or(by_measure))
    }

    /// Lives until the job is gone.
    pub(crate) fn run(mut self) {
        let plain = Plain::of_self();
        // SAFETY: plain integers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0) };
        let quiet = self.settings.watches_disks.then(Quiet::begin);
        let Ok(nudge) = Nudge::new().map(Arc::new) else { return };
        // The user's measure is not background: it begins before this process is.
        let complaints = Complaints::default();
        let slo = self.settings.slo.clone().and_then(|choice| {
            let nudge = Arc::clone(&nudge);
            let failed = |error| self.unmet.push(format!("--slo: cannot start a shell: {error}"));
            Slo::start(&choice, &complaints, move || nudge.give()).map_err(failed).ok()
        });
        let group = self.group.take();
        let family = Family::of_supervisor(group.as_ref());
        let mut gate = HoldGate::new(self.settings.hold_by, group, family.clone(), Arc::clone(&self.shared));
        if !gate.can_hold() {
            self.settings.hold = None;
        }
        // The job's sockets are marked when they are made, so it waits for this: at full priority.
        let net = self.start_net(&family);
        // What is read ahead for the job is background too, and deciding for it must not take the CPU from the
        // foreground. Not SCHED_IDLE: a held job must be let go in time. Under autogroup nice counts only within the
        // session, which is the supervisor's own; the file is missing without autogroup.
        let _ = MarkSet::default().with(Mark::IoprioIdle).apply();
        set_weight(std::process::id(), LOWEST);
        let_others_run();
        let read_ahead = ReadAhead::default();
        // The job may read before the listener stands: as early as can be.
        let mut memory = self.settings.memory.and_then(|aim| {
            // Signals are too coarse for holds as short as a writer's.
            let is_prompt = gate.is_prompt();
            let aim = MemoryAim { longest_hold: aim.longest_hold.filter(|_| is_prompt), ..aim };
            let apart = gate.group().and_then(JobGroup::memory);
            let is_named = aim.begins == Begins::AtOnce;
            let begun = MemoryStart::begin(aim, &family, apart, &read_ahead, &nudge);
            if let Some(why) = begun.as_ref().err().filter(|_| is_named) {
                self.unmet.push(format!("--resources memory: {why}"));
            }
            begun.ok()
        });
        let room = self.settings.memory.map(|aim| aim.room).unwrap_or_default();
        // SAFETY: only asks.
        let front = u32::try_from(unsafe { libc::getppid() }).unwrap_or(0);
        let setter = memory.as_ref().map(MemoryStart::room_setter);
        // A job without processes in its group may have moved them to others of its own.
        let has_ended = Arc::new(AtomicBool::new(false));
        let is_over = {
            let (has_ended, family) = (Arc::clone(&has_ended), family.clone());
            move || has_ended.load(Ordering::SeqCst) && family.pids().is_empty()
        };
        let (asker, wishes) = {
            let has_ended = Arc::clone(&has_ended);
            release::line(&nudge, move || has_ended.load(Ordering::SeqCst))
        };
        if let Err(error) = adjust::serve(front, room, setter, asker, is_over) {
            self.notes.push(format!("lull set cannot reach this run: {error}"));
        }
        let Some(listener) = self.wait_for_listener() else { return };
        // Calls trapped from now on wait in the kernel until somebody receives them; the job need not wait for that to begin.
        self.tell(&FromSupervisor::Serving);
        let began = clock::now();
        let engine = Engine::new(Vec::new(), self.settings.promise, family.clone(), Arc::clone(&self.shared));
        let engine = Arc::new(Mutex::new(engine));
        lock(&engine).can_hold = gate.can_hold();
        lock(&engine).spares_the_oldest = self.settings.control.interval == IntervalChoice::Auto;
        lock(&engine).count_read_ahead(read_ahead);
        lock(&engine).pages = memory.as_ref().and_then(MemoryStart::link);
        lock(&engine).net_when_used = WhenUsed::new(&self.settings, &family, &nudge);
        let gone = Arc::new(AtomicBool::new(false));
        let receive = |listener: &Arc<Listener>| {
            lock(&engine).set_listener(Arc::clone(listener));
            let open = lock(&engine).open();
            let (listener, shared) = (Arc::clone(listener), Arc::clone(&self.shared));
            let (engine, nudge, gone) = (Arc::clone(&engine), Arc::clone(&nudge), Arc::clone(&gone));
            Gate { listener, shared, engine, open, nudge, gone }.start()
        };
        // An engine without disks passes every call that would use one.
        let passes_early = quiet.is_none_or(|quiet| quiet.lasts());
        if !listener.iter().filter(|_| passes_early).all(receive) {
            return self.give_up();
        }
        let (sleeps, wakes) = (Arc::clone(&lock(&engine).sleeps), Arc::clone(&nudge));
        if listener.is_some() {
            // Who has no thread to spare, or no bus, is not told.
            thread::start(move || {
                let tell = |about_to: bool| {
                    sleeps.store(about_to, Ordering::Relaxed);
                    wakes.give();
                };
                let _ = sleep::hear(&Root::real(), tell);
                sleeps.store(false, Ordering::Relaxed);
            });
        }
        let start = || sensors::start(&self.settings, &family);
        // While calls pass it is in a hurry.
        let started = if passes_early { at_normal_priority(start) } else { start() };
        let Sensors { disks, bpf, kind, notes, unmet } = started;
        lock(&engine).watch(disks);
        if !listener.iter().filter(|_| !passes_early).all(receive) {
            return self.give_up();
        }
        let io_class = self.io_class(&lock(&engine), bpf.is_some() && listener.is_some());
        let ours = || [family.pids(), vec![std::process::id().cast_signed()]].concat();
        IoClass::Idle.change(ours, io_class);
        self.notes.extend(notes);
        self.unmet.extend(unmet);
        let net_sensor = net.as_ref().map_or(-1, Net::wake_fd);
        lock(&engine).net = net;
        lock(&engine).regulator = Regulator::new(&self.settings, &family);
        let sensing = clock::now();
        let sensor = bpf.as_ref().map_or(-1, lull_bpf::BlockSensor::wake_fd);
        let is_refused = self.settings.watches_disks && bpf.is_none();
        if let Some(option) = self.wish_for_cpus()
            && (is_refused || self.settings.sensor == SensorChoice::Diskstats)
        {
            self.unmet.push(format!("{option}: {CPUS_NEED_BPF}"));
        }
        let mut cpus = CpuStart::begin(&self.settings, is_refused, family.clone(), slo, &nudge);
        // Without an idle CPU group a session of the job's own weighs as much as the user's.
        let lone = self.settings.policy.marks_job() && !gate.group().is_some_and(JobGroup::has_idle_cpu);
        // SAFETY: both only ask; the front leads or shares the session in which the job was started.
        let (front, session) = unsafe { (libc::getppid(), libc::getsid(libc::getppid())) };
        let mut sessions = lone.then(|| (Sessions::of_front(front, session), Nanos::ZERO));
        // For the kernel, who is held by a quota is starved.
        let starved = |gate: &HoldGate, now| {
            family.starved_of_cpu().map(|starved| starved.since(gate.total_by_quota(now)))
        };
        let mut sleep = Sleep::new([nudge.as_raw_fd(), self.channel.as_raw_fd(), sensor, -1, net_sensor]);
        let (mut told, mut healed, mut cpu_so_far) = (Nanos::ZERO, Nanos::ZERO, [Nanos::ZERO; 2]);
        let (mut has_begun, mut job_ended) = (false, false);
        loop {
            let now = clock::now();
            let mut guard = lock(&engine);
            if let Some(started) = cpus.finish(&gate, now) {
                match started {
                    Ok(cpu) => guard.cpu = Some(cpu),
                    Err(error) => match self.wish_for_cpus() {
                        Some(option) => self.unmet.push(format!("{option}: {error}")),
                        None => self.notes.push(error.to_string()),
                    },
                }
                sleep.watch(CPU_SENSOR, cpus.wake_fd());
            }
            if let Some(started) = guard.finish_net() {
                match started {
                    Ok(notes) => self.notes.extend(notes),
                    Err(why) => self.notes.push(why),
                }
                sleep.watch(NET_SENSOR, guard.net.as_ref().map_or(-1, Net::wake_fd));
            }
            if let Some(memory) = &mut memory
                && let Some(started) = memory.finish()
            {
                self.notes.extend(started.err().map(str::to_owned));
                guard.pages = memory.link();
            }
            let trouble = guard.net.as_mut().and_then(Net::take_trouble);
            let words = guard.take_words().into_iter().map(str::to_owned);
            for complaint in complaints.take().into_iter().chain(trouble).chain(words) {
                self.tell(&FromSupervisor::Told(complaint.clone()));
                self.notes.push(complaint);
            }
            let Next { at } = guard.turn(now);
            let is_held = has_begun && guard.wants_held(now);
            let first = (gate.is_held() && !is_held).then(come_first).flatten();
            gate.set(now, is_held);
            if let Some(bpf) = bpf.as_ref().filter(|_| now.since(healed) >= HEAL_EVERY) {
                healed = now;
                for (device, oldest) in guard.disks.iter().filter_map(|disk| disk.oldest(now)) {
                    // A sensor that cannot be mended now is tried again.
                    let _ = bpf.heal(device, oldest);
                }
            }
            if let Some((sessions, lowered)) = &mut sessions
                && now.since(*lowered) >= SESSIONS_EVERY
            {
                *lowered = now;
                sessions.lower(&family.pids());
            }
            if self.status_every.is_some_and(|every| now.since(told) >= every) {
                let span = now.since(std::mem::replace(&mut told, now));
                let mut status = tell::status(&guard, &gate, now, began);
                status.memory =
                    memory.as_ref().and_then(MemoryStart::summary).map(|memory| memory.short_text());
                drop(guard);
                let so_far = [starved(&gate, now), family.cpu_time()].map(Option::unwrap_or_default);
                status.starved = tell::is_starved(span, std::mem::replace(&mut cpu_so_far, so_far), so_far);
                self.tell(&FromSupervisor::Status(Box::new(status)));
            } else {
                drop(guard);
            }
            let had_begun = has_begun;
            if sleep.is_ready(FRONT) {
                let front_gone = self.hear(|supervisor, message| {
                    match message {
                        ToSupervisor::Begun => has_begun = true,
                        ToSupervisor::JobEnded => job_ended = true,
                        ToSupervisor::Listener | ToSupervisor::NoListener(_) => {}
                    }
                    if !job_ended {
                        return;
                    }
                    // What lives on in the group goes on reading.
                    if gate.is_empty() {
                        memory.iter().for_each(MemoryStart::settle);
                        let rooms = lock(&engine).net.as_ref().map(Net::empty_rooms);
                        net::room::wait_for(&rooms.unwrap_or_default());
                    }
                    let mut summary = supervisor.summary(&lock(&engine), &gate, kind, [began, sensing]);
                    summary.memory = memory.as_ref().and_then(MemoryStart::summary);
                    summary.starved_ns = starved(&gate, clock::now()).map(|starved| starved.0);
                    if let Some((memory, error)) = memory.as_ref().and_then(|m| Some((m, m.failure()?))) {
                        match memory.was_named() {
                            true => summary.unmet.push(format!("--resources memory: {error}")),
                            false => summary.notes.push(error.to_string()),
                        }
                    }
                    supervisor.tell(&FromSupervisor::Summary(Box::new(summary)));
                });
                if front_gone {
                    sleep.forget(FRONT);
                }
            }
            let ending = job_ended || sleep.is_forgotten(FRONT);
            has_ended.store(ending, Ordering::SeqCst);
            // The filter's last task may still be on its way out of the group. Before Linux 6.11 the gate thread's wait
            // does not end with the job.
            let untrapped = |listener: &Arc<Listener>| gone.load(Ordering::SeqCst) || listener.is_hung_up();
            // Without a filter and without a group, what the first process has left behind is found by its descent.
            let is_alone = || family.pids().is_empty();
            let ended = ending && listener.as_ref().map_or_else(is_alone, untrapped) && gate.is_empty();
            if ended && memory.as_mut().is_none_or(|memory| memory.is_done(now)) {
                break;
            }
            let wish = wishes.take();
            if wish.is_some() || (ending && self.settings.release_leftovers && !gate.is_empty()) {
                let pids = family.pids();
                lock(&engine).release_all(now);
                io_class.change(ours, IoClass::Idle);
                let count = release::let_go(&pids, gate.give_up(), plain);
                if let Some(wish) = wish {
                    // Whoever asked may have gone.
                    let _ = wish.send(count);
                    // The answer goes by another thread, which ends with this one.
                    std::thread::sleep(GOODBYE);
                }
                return release_queues(&self.queues);
            }
            // The job may have to be held at once.
            let begins = (has_begun && !had_begun).then_some(now);
            let checks =
                self.status_every.filter(|_| !sleep.is_forgotten(FRONT)).map(|every| told.plus(every));
            let group = ending.then(|| now.plus(GROUP_CHECK));
            sleep.until([at, begins, checks, group].into_iter().flatten().min());
            drop(first);
            if sleep.is_ready(NUDGE) {
                nudge.take();
            }
            if let Some(bpf) = bpf.as_ref().filter(|_| sleep.is_ready(SENSOR)) {
                bpf.drain();
            }
            if sleep.is_ready(CPU_SENSOR) {
                cpus.drain();
            }
            if let Some(net) = lock(&engine).net.as_ref().filter(|_| sleep.is_ready(NET_SENSOR)) {
                net.drain();
            }
        }
        lock(&engine).release_all(clock::now());
        io_class.change(ours, IoClass::Idle);
        release_queues(&self.queues);
        gate.finish(&Shed { aim: self.settings.memory, born: self.born });
    }

    /// Nobody can receive the job's calls: the guardian passes them, once this process has ended.
    fn give_up(&self) {
        self.tell(&FromSupervisor::Told(NO_THREAD.to_owned()));
    }

    /// Takes the front's messages. True once the front is gone.
    fn hear(&self, mut heard: impl FnMut(&Self, ToSupervisor)) -> bool {
        loop {
            match self.channel.receive(true) {
                Ok(Packet::Message(bytes, _)) => {
                    if let Ok(message) = serde_json::from_slice(&bytes) {
                        heard(self, message);
                    }
                }
                Ok(Packet::Nothing) => return false,
                Ok(Packet::Closed) | Err(_) => return true,
            }
        }
    }
}
