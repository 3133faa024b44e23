//! Starting what holds the network, once the job uses it.
//!
//! Problem: loading the programs takes a fifth of a second, and most jobs make no socket. But a socket is marked when it
//! connects, so whatever is loaded after that misses it.
//!
//! Approach: the filter traps the call that makes an internet socket. Beside a foreground that uses the network the first one waits until
//! the programs stand; there is no traffic before that. Where no packet came or went for a moment, waiting helps nobody: the call goes on,
//! and TCP that is connected meanwhile is marked when the programs stand. A job that makes none pays nothing, and leaves nothing to undo.
//!
//! ```text
//!            first socket              programs stand, or are refused
//!   unused ───────────────▶ loading ────────────────────────────────▶ over
//!                              │  its call waits, and those of others; when nobody else sends anything (CALM), WAIT_AT_MOST is
//!                              └──▶ over, or a signal comes for one of them, it goes on: what connects later is marked nevertheless
//! ```
//!
//! Edge cases: a job that speaks to this host alone loads the programs for nothing, since only later calls have addresses, and those
//! in memory. Datagrams that a job sends through a socket which it connected while calls went on are not marked, only counted as its own.
//! 32-bit programs and io_uring (`--io-uring`) make sockets that no filter sees; they alone load nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};

use lull_core::Nanos;
use lull_linux::clock;
use lull_linux::probe::{BpfFacts, UserFacts};
use lull_linux::root::Root;
use lull_linux::seccomp::{Scope, Trap};

use super::Net;
use crate::run::cpu_start::at_normal_priority;
use crate::run::family::Family;
use crate::run::settings::{LendNet, RunSettings, SensorChoice};
use crate::run::signals;
use crate::run::supervisor::{LOWEST, Nudge, set_weight};

/// The longest wait for the programs.
const WAIT_AT_MOST: Nanos = Nanos::from_secs(10);
/// An interface that nobody used for so long is nobody's.
const CALM: Nanos = Nanos::from_millis(25);
/// How often to look for signals that wait with a call.
const SIGNAL_CHECK: Nanos = Nanos::from_millis(50);

/// The network, and what a person should know; or why it is left as it is.
pub(crate) type Outcome = Result<(Net, Vec<String>), String>;

/// Why it is left as it is from the beginning: by what was asked for, without a word, or for want of something, in words.
pub(crate) enum Obstacle {
    /// The options leave nobody who would see the job's sockets.
    Chosen,
    /// What is missing here.
    Missing(&'static str),
}

/// What there is to be seen before the job begins.
pub(crate) fn obstacle(settings: &RunSettings, groups: &[impl AsRef<Path>]) -> Option<Obstacle> {
    let root = Root::real();
    let told_apart = settings.protect.is_everything() || !settings.protect.cgroup_ids.is_empty();
    if !told_apart || settings.scope == Scope::None || settings.sensor == SensorChoice::Diskstats {
        return Some(Obstacle::Chosen);
    }
    if !groups.iter().any(|group| group.as_ref().join("cgroup.controllers").exists()) {
        return Some(Obstacle::Missing("no cgroup v2 group for the job, by which its sockets are told"));
    }
    if !BpfFacts::read(&root).usable() {
        return Some(Obstacle::Missing("BPF programs cannot be loaded"));
    }
    let may = UserFacts::read(&root).has("CAP_NET_ADMIN");
    (!may).then_some(Obstacle::Missing("no CAP_NET_ADMIN"))
}

/// See the module.
#[derive(Default)]
pub(crate) enum WhenUsed {
    /// Loaded, refused, or not wanted.
    #[default]
    Over,
    Unused(Box<Plan>),
    Loading(Loading),
}

/// What is needed to load.
pub(crate) struct Plan {
    settings: RunSettings,
    family: Family,
    nudge: Arc<Nudge>,
}

pub(crate) struct Loading {
    outcome: Receiver<Outcome>,
    /// Goes when the outcome is taken: until then the loop thread has the loader's priority.
    _taken: Sender<()>,
    waiting: Vec<Waiting>,
    /// No call waits any longer.
    until: Nanos,
    checked: Nanos,
    calm: Option<Calm>,
}

/// What is looked at once, to see whether anybody uses the network.
struct Calm {
    root: Root,
    at: Nanos,
    packets: u64,
}

struct Waiting {
    id: u64,
    tid: u32,
}

impl WhenUsed {
    /// Nothing but a plan, for now. The nudge is given when the programs stand.
    pub(crate) fn new(settings: &RunSettings, family: &Family, nudge: &Arc<Nudge>) -> Self {
        if settings.net != LendNet::WhenUsed {
            return Self::Over;
        }
        let (settings, family, nudge) = (settings.clone(), family.clone(), Arc::clone(nudge));
        Self::Unused(Box::new(Plan { settings, family, nudge }))
    }

    /// The job makes a socket: whether that must wait.
    pub(crate) fn must_wait(&mut self, now: Nanos, trap: &Trap) -> bool {
        if let Self::Unused(_) = self {
            *self = match std::mem::take(self) {
                Self::Unused(plan) => plan.load(now).map_or(Self::Over, Self::Loading),
                other => other,
            };
        }
        match self {
            Self::Loading(loading) if now < loading.until => {
                loading.waiting.push(Waiting { id: trap.id, tid: trap.tid });
                true
            }
            _ => false,
        }
    }

    /// What came of it, once; and the calls that wait no more.
    pub(crate) fn step(&mut self, now: Nanos) -> (Option<Outcome>, Vec<u64>) {
        let Self::Loading(loading) = self else { return (None, Vec::new()) };
        match loading.outcome.try_recv() {
            Err(TryRecvError::Empty) => (None, loading.give_up(now)),
            outcome => {
                let free = loading.waiting.drain(..).map(|waiting| waiting.id).collect();
                *self = Self::Over;
                // Without an answer the loader has panicked.
                (outcome.ok(), free)
            }
        }
    }

    /// When to look at those that wait.
    pub(crate) fn next(&self) -> Option<Nanos> {
        match self {
            Self::Loading(loading) if !loading.waiting.is_empty() => {
                let calm = loading.calm.as_ref().map_or(loading.until, |calm| calm.at);
                Some(loading.until.min(calm).min(loading.checked.plus(SIGNAL_CHECK)))
            }
            _ => None,
        }
    }

    /// All calls that wait, when the supervisor ends.
    pub(crate) fn end(&mut self) -> Vec<u64> {
        match std::mem::take(self) {
            Self::Loading(loading) => loading.waiting.into_iter().map(|waiting| waiting.id).collect(),
            Self::Over | Self::Unused(_) => Vec::new(),
        }
    }
}

impl Plan {
    /// Begins; none if there is no thread to be had.
    fn load(self: Box<Self>, now: Nanos) -> Option<Loading> {
        let (sender, outcome) = sync_channel(1);
        let (taken, untaken) = channel();
        let started = std::thread::Builder::new().name("net-start".to_owned()).spawn(move || {
            let Self { settings, family, nudge } = *self;
            // The job waits for this thread, and for the loop thread, which answers its calls.
            set_weight(std::process::id(), 0);
            at_normal_priority(|| {
                // Nobody takes it when the job has ended.
                let _ = sender.send(Net::start(&settings, family.v2_group(), clock::now()));
                nudge.give();
                let _ = untaken.recv();
            });
            set_weight(std::process::id(), LOWEST);
        });
        let calm = Some(Calm::begin(Root::real(), now));
        let until = now.plus(WAIT_AT_MOST);
        started.ok().map(|_| Loading {
            outcome,
            _taken: taken,
            waiting: Vec::new(),
            until,
            checked: now,
            calm,
        })
    }
}

impl Calm {
    fn begin(root: Root, now: Nanos) -> Self {
        Self { at: now.plus(CALM), packets: packets(&root), root }
    }

    /// Whether nothing has come or gone since.
    fn lasts(&self) -> bool {
        packets(&self.root) == self.packets
    }
}

impl Loading {
    /// Those that have waited for too long, or whose threads have a signal to handle.
    fn give_up(&mut self, now: Nanos) -> Vec<u64> {
        if let Some(calm) = self.calm.take_if(|calm| now >= calm.at)
            && calm.lasts()
        {
            self.until = now;
        }
        let all = now >= self.until;
        if !all && now.since(self.checked) < SIGNAL_CHECK {
            return Vec::new();
        }
        self.checked = now;
        let free = |waiting: &mut Waiting| all || signals::is_pending(waiting.tid);
        self.waiting.extract_if(.., free).map(|waiting| waiting.id).collect()
    }
}

/// Columns of `/proc/net/dev` behind the name that count packets: received, sent (proc_pid_net(5)).
const PACKETS_AT: [usize; 2] = [1, 9];

/// What has come and gone through all interfaces that lead somewhere. Not from `/sys`, which may show those of another network
/// namespace.
fn packets(root: &Root) -> u64 {
    let table = root.read("/proc/net/dev").unwrap_or_default();
    let lines = table.lines().filter_map(|line| line.split_once(':'));
    let counts = lines.filter(|(name, _)| name.trim() != "lo").flat_map(|(_, counts)| {
        let counts: Vec<u64> = counts.split_whitespace().filter_map(|count| count.parse().ok()).collect();
        PACKETS_AT.map(|at| counts.get(at).copied().unwrap_or(0))
    });
    counts.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests;
