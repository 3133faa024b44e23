//! From facts to what will be used: sensor, gates, marks, each with its reason.

use serde::{Serialize, Serializer};

use super::{Mark, MarkSet};
use crate::probe::{Attempt, DiskFacts, Facts, IoprioLevel};
use crate::topology::DiskKind;

/// Whether something has an effect here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It does what it says.
    Takes,
    /// It does so in some cases only.
    Partly,
    /// The kernel accepts and ignores it.
    NoEffect,
    /// The kernel does not let us.
    Refused,
}

/// One mark's effect, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The mark, in the words of its users.
    pub what: String,
    /// What it does here.
    pub effect: Effect,
    /// Why.
    pub why: String,
}

/// One way chosen among several, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The way, by its name.
    pub name: &'static str,
    /// Is it the best that lull knows?
    pub best: bool,
    /// Why this one.
    pub why: String,
}

/// What lull will use on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// How disks are observed.
    pub sensor: Choice,
    /// How single requests are held.
    pub request_gate: Choice,
    /// How a whole job is held.
    pub hold_gate: Choice,
    /// How the CPUs are lent.
    pub cpus: Choice,
    /// The marks to set.
    #[serde(serialize_with = "as_list")]
    pub marks: MarkSet,
    /// Will the job's cgroup get `cpu.idle`?
    pub cpu_idle: bool,
    /// What each mark does here.
    pub reasons: Vec<Reason>,
}

/// Why a mark of single tasks counts for less under autogroup.
const SESSION_ONLY: &str =
    "only against tasks of the same session: autogroup gives each session its own share";

const ALL: [Mark; 5] = [Mark::IoprioIdle, Mark::SchedIdle, Mark::Nice, Mark::OomScore, Mark::TimerSlack];

fn as_list<S: Serializer>(marks: &MarkSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ALL.into_iter().filter(|&mark| marks.contains(mark)))
}

impl Plan {
    /// What the facts leave to choose.
    pub fn for_facts(facts: &Facts) -> Self {
        let sensor = sensor(facts);
        let mut plan = Self {
            hold_gate: hold_gate(facts),
            cpus: cpus(&sensor),
            sensor,
            request_gate: request_gate(facts),
            marks: MarkSet::default(),
            cpu_idle: facts.cgroups.idling().is_some(),
            reasons: Vec::new(),
        };
        plan.cpu_marks(facts);
        plan.disk_marks(facts);
        plan.marks = plan.marks.with(Mark::OomScore).with(Mark::TimerSlack);
        plan.reason("oom_score_adj +1000", Effect::Takes, "the job goes first when memory runs out");
        plan.reason(
            "timer slack 1 ms",
            Effect::Takes,
            "the job's timers may fire late, several at one wake-up",
        );
        plan
    }

    fn reason(&mut self, what: impl Into<String>, effect: Effect, why: impl Into<String>) {
        self.reasons.push(Reason { what: what.into(), effect, why: why.into() });
    }

    fn cpu_marks(&mut self, facts: &Facts) {
        let cpu = &facts.cpu;
        if self.cpu_idle {
            self.reason(
                "cpu.idle",
                Effect::Takes,
                "the job's cgroup runs when no other cgroup wants the CPU",
            );
        } else {
            self.reason("cpu.idle", Effect::Refused, no_cpu_idle(facts));
        }
        let (effect, scope) = if self.cpu_idle {
            (Effect::Takes, "tags each task; the cgroup's cpu.idle decides against other sessions")
        } else if cpu.autogroup.applies {
            (Effect::Partly, SESSION_ONLY)
        } else {
            (Effect::Takes, "runs when no other task of its CPU group wants the CPU")
        };
        match &cpu.sched_idle {
            Attempt::Works => {
                self.marks = self.marks.with(Mark::SchedIdle);
                self.reason("SCHED_IDLE", effect, scope);
                let why = if cpu.autogroup.applies && !self.cpu_idle {
                    "SCHED_IDLE is lower than any nice value, and autogroup voids nice between sessions"
                } else {
                    "SCHED_IDLE is lower than any nice value"
                };
                self.reason("nice 19", Effect::NoEffect, why);
            }
            Attempt::Fails { why, .. } => {
                self.reason("SCHED_IDLE", Effect::Refused, why.clone());
                self.nice(facts);
            }
        }
    }

    /// Nice is the second best, where SCHED_IDLE is refused.
    fn nice(&mut self, facts: &Facts) {
        match &facts.cpu.nice {
            Attempt::Works => {
                self.marks = self.marks.with(Mark::Nice);
                let (effect, why) = if facts.cpu.autogroup.applies {
                    (Effect::Partly, SESSION_ONLY)
                } else {
                    (Effect::Takes, "a small share of the CPU")
                };
                self.reason("nice 19", effect, why);
            }
            Attempt::Fails { why, .. } => self.reason("nice 19", Effect::Refused, why.clone()),
        }
    }

    fn disk_marks(&mut self, facts: &Facts) {
        match &facts.cpu.ioprio_idle {
            Attempt::Fails { why, .. } => self.reason("I/O class idle", Effect::Refused, why.clone()),
            Attempt::Works => {
                self.marks = self.marks.with(Mark::IoprioIdle);
                self.reason(
                    "I/O class idle as a tag",
                    Effect::Takes,
                    "sensors tell background requests by it",
                );
                let decides = |disk: &&DiskFacts| {
                    !matches!(
                        disk.kind,
                        DiskKind::DeviceMapper | DiskKind::Raid | DiskKind::Stacked | DiskKind::Zram
                    ) || disk.ioprio.level != IoprioLevel::None
                };
                for disk in facts.disks.iter().filter(decides) {
                    let effect = match disk.ioprio.level {
                        IoprioLevel::None => Effect::NoEffect,
                        IoprioLevel::Order => Effect::Partly,
                        IoprioLevel::Full => Effect::Takes,
                    };
                    self.reason(format!("I/O class idle on {}", disk.name), effect, disk.ioprio.why.clone());
                }
            }
        }
    }
}

fn sensor(facts: &Facts) -> Choice {
    let bpf = &facts.bpf;
    if bpf.usable() {
        let why = "each request's start and end, by class, without a system call to read them";
        return Choice { name: "BPF block events", best: true, why: why.to_owned() };
    }
    let lacking = if !bpf.btf {
        "the kernel has no type information (BTF)".to_owned()
    } else if let Attempt::Fails { why, .. } = &bpf.map {
        format!("creating a BPF map is refused: {why}")
    } else {
        format!("loading a tracing program is refused: {}", bpf.tracing)
    };
    Choice { name: "diskstats", best: false, why: format!("{lacking}; counters are read every millisecond") }
}

fn request_gate(facts: &Facts) -> Choice {
    let seccomp = &facts.seccomp;
    if !seccomp.usable() {
        let why = match &seccomp.listener {
            Attempt::Works => "the kernel (before 5.5) can't let a held call continue".to_owned(),
            Attempt::Fails { why, .. } => format!("seccomp user notification is refused: {why}"),
        };
        return Choice { name: "none", best: false, why: format!("{why}; the hold gate works alone") };
    }
    let mut lacking = Vec::new();
    if !seccomp.sync_wake_up {
        lacking.push("no synchronous wake-up (6.6): a held call costs about 12 µs instead of 4");
    }
    if !seccomp.wait_killable {
        lacking.push("no killable wait (5.19): a held call restarts when a signal comes");
    }
    let best = lacking.is_empty();
    let why = if best { "synchronous wake-up and killable wait".to_owned() } else { lacking.join("; ") };
    Choice { name: "seccomp user notification", best, why }
}

fn hold_gate(facts: &Facts) -> Choice {
    if facts.cgroups.throttling().is_none() {
        let why = format!(
            "no group with a CPU quota may be made ({}): page faults and small buffered reads are not held; `--hold freeze` stops the \
             job, which ends its blocking calls early",
            no_cpu_idle(facts)
        );
        return Choice { name: "none", best: false, why };
    }
    let best = facts.kernel.at_least(6, 18);
    let mut why =
        "one write leaves all of the job's processes next to no CPU time, and interrupts no call".to_owned();
    if !best {
        why += "; before Linux 6.18 one may be stopped inside the kernel, with a lock that others wait for, for up to a hold (0.1 s)";
    }
    Choice { name: "CPU quota", best, why }
}

fn cpus(sensor: &Choice) -> Choice {
    if sensor.best {
        let why = "once somebody else computes, their bursts are compared with and without the job";
        Choice { name: "by measured harm, from BPF scheduler events", best: true, why: why.to_owned() }
    } else {
        let why = "no BPF program may be loaded: caches and memory bandwidth are not protected";
        Choice { name: "by the kernel's idle class alone", best: false, why: why.to_owned() }
    }
}

fn no_cpu_idle(facts: &Facts) -> String {
    let hierarchy = facts.cgroups.v1_of("cpu").or(facts.cgroups.v2.as_ref());
    match hierarchy {
        None => "no control groups are mounted".to_owned(),
        Some(found) => match &found.child {
            Attempt::Fails { why, .. } => format!("no group may be made below {}: {why}", found.own_path),
            Attempt::Works if found.version == 2 => {
                format!("group {} does not hand the cpu controller down to its children", found.own_path)
            }
            Attempt::Works => "this kernel (before 5.15) has no idle groups".to_owned(),
        },
    }
}
