//! What would improve things here, with the exact command where there is one.
//!
//! Only what follows from the facts is advised, the most valuable first: seeing requests, holding them, holding the job,
//! marking it, then single disks. A host where everything is had gets no advice.

use std::path::Path;

use lull_linux::probe::{Attempt, Facts};
use lull_linux::topology::DiskKind;
use serde::Serialize;

use super::class::Class;

/// One improvement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Advice {
    /// What to do, and what it is good for.
    pub(super) what: String,
    /// The command, if one does it.
    pub(super) command: Option<String>,
}

/// All advice for this host. `program` is lull itself; `systemd` says whether systemd runs the host.
pub(super) fn all(facts: &Facts, class: Option<&Class>, program: &Path, systemd: bool) -> Vec<Advice> {
    let host = [
        sensor(facts, program),
        gate(facts),
        hold(facts, systemd),
        inside(facts, systemd),
        class.and_then(|class| cpu(facts, class, systemd)),
        pressure(facts),
    ];
    host.into_iter().flatten().chain(disks(facts)).collect()
}

fn advice(what: impl Into<String>, command: Option<String>) -> Option<Advice> {
    Some(Advice { what: what.into(), command })
}

fn sensor(facts: &Facts, program: &Path) -> Option<Advice> {
    let bpf = &facts.bpf;
    if bpf.usable() {
        let lacks_net =
            facts.user.euid != 0 && !["CAP_NET_ADMIN", "CAP_NET_RAW"].iter().all(|name| facts.user.has(name));
        let what = "Let lull mark and hold the job's traffic: without CAP_NET_ADMIN it leaves the network as it is, without \
                    CAP_NET_RAW datagrams have no room to wait in. The job does not inherit the capabilities.";
        return lacks_net.then(|| Advice { what: what.to_owned(), command: Some(setcap(program)) });
    }
    if !bpf.btf {
        let what = "A kernel built with CONFIG_DEBUG_INFO_BTF (those of Debian 12, Ubuntu 22.04, Fedora 34 and later are) lets \
                    lull see each request: intervals of microseconds instead of milliseconds.";
        return advice(what, None);
    }
    if facts.user.euid == 0 {
        let what = "Root here may not load BPF programs: the container or a security module forbids it. Give it CAP_BPF and \
                    CAP_PERFMON (or CAP_SYS_ADMIN), or run lull on the host: intervals of microseconds instead of \
                    milliseconds.";
        return advice(what, None);
    }
    let what = "Let lull load its BPF observers: intervals of microseconds instead of milliseconds. The last two are for the \
                network alone: its programs, and the room in which datagrams wait. The job does not inherit the \
                capabilities.";
    advice(what, Some(setcap(program)))
}

/// The command by which an ordinary user's lull sees and holds everything.
fn setcap(program: &Path) -> String {
    format!("sudo setcap cap_bpf,cap_perfmon,cap_net_admin,cap_net_raw+ep {}", program.display())
}

fn gate(facts: &Facts) -> Option<Advice> {
    let seccomp = &facts.seccomp;
    match seccomp.listener.errno() {
        Some(libc::EBUSY) => advice(
            "Start lull outside of the program that already holds this process's system calls (another lull run, or a \
             container runtime): the kernel allows one holder per process.",
            None,
        ),
        Some(_) => advice(
            "Allow seccomp(2) with user notification in the container's profile (kernel 5.5 or newer): requests can then be \
             held one by one, instead of the whole job.",
            None,
        ),
        None if seccomp.usable() && !seccomp.sync_wake_up => {
            advice("Kernel 6.6 or newer: a held call then costs a third.", None)
        }
        None if !seccomp.usable() => advice(
            "Kernel 5.5 or newer: requests can then be held one by one, instead of the whole job.",
            None,
        ),
        None => None,
    }
}

fn hold(facts: &Facts, systemd: bool) -> Option<Advice> {
    let own = facts.cgroups.v2.as_ref();
    let can_hold = facts.cgroups.throttling().is_some();
    if own.is_none() && facts.kernel.at_least(5, 2) {
        return advice(
            "Mount the v2 hierarchy beside the others: the job's sockets can be marked there. \
             Where it is mounted but hidden, as `ip netns exec` does, start lull with \
             `nsenter --net=/run/netns/NAME` instead.",
            Some(
                "sudo mkdir -p /sys/fs/cgroup/unified && sudo mount -t cgroup2 none /sys/fs/cgroup/unified"
                    .to_owned(),
            ),
        );
    }
    if can_hold {
        return None;
    }
    let denied =
        own.and_then(|own| own.child.errno()).filter(|errno| [libc::EACCES, libc::EPERM].contains(errno));
    if denied.is_some() && systemd && facts.user.euid != 0 {
        return advice(
            "Have systemd keep a manager for this user, which gives each job a control group: the job can then be held as a whole, by a \
             CPU quota. Until then only its large calls wait.",
            Some("loginctl enable-linger".to_owned()),
        );
    }
    if denied.is_some() && facts.user.euid != 0 {
        return advice(
            "Start lull as root, or in a control group that this user may make groups in: without one the job's sockets cannot be told, so \
             the network is left as it is, and of the job only large calls are held.",
            None,
        );
    }
    if own.and_then(|own| own.child.errno()) == Some(libc::EROFS) {
        return advice(
            "The control groups are mounted read-only, as containers do: mount them writable, or run lull on the host; only the job's \
             large calls are held until then.",
            None,
        );
    }
    None
}

/// Where limits keep the job's group below lull's own.
fn inside(facts: &Facts, systemd: bool) -> Option<Advice> {
    let cpu = facts.cgroups.v1_of("cpu").or(facts.cgroups.v2.as_ref())?;
    let why = cpu.inside.as_ref()?;
    let command = (systemd && facts.user.euid == 0).then(|| "systemd-run --scope lull run -- CMD".to_owned());
    advice(
        format!(
            "Start lull outside of the limits that it runs under ({why}): the job's CPU class then counts against everybody, and it has a \
             memory group with a ceiling that gives way to the foreground."
        ),
        command,
    )
}

fn cpu(facts: &Facts, class: &Class, systemd: bool) -> Option<Advice> {
    if class.is_in_force() {
        return None;
    }
    if facts.cpu.autogroup.applies && facts.cpu.sched_idle.works() && facts.cgroups.idling().is_none() {
        return advice(
            "Under autogroup the job's idle CPU class counts only within this terminal's session. Give the job a session of its \
             own, which lull then gives the least share; needed only if it is busy on CPUs that others want, and Ctrl-C does not reach it then.",
            Some("setsid -w lull run -- CMD".to_owned()),
        );
    }
    if facts.user.euid != 0 && systemd {
        return advice(
            "Have root start the job: systemd lets a user order their own programs only, so beside other users and other sessions the job \
             weighs as much as all of yours together. Needed only if it is busy on CPUs that others want.",
            Some("sudo lull run -- sudo -u \"$USER\" CMD".to_owned()),
        );
    }
    None
}

fn pressure(facts: &Facts) -> Option<Advice> {
    if !facts.kernel.pressure.is_empty() || !facts.kernel.at_least(4, 20) {
        return None;
    }
    advice(
        "Boot with psi=1 on the kernel's command line: stalls for I/O are then counted and reported.",
        None,
    )
}

/// Advice on single disks: loop devices whose requests go through the page cache below.
pub(super) fn disks(facts: &Facts) -> impl Iterator<Item = Advice> {
    let buffered =
        facts.disks.iter().filter(|disk| disk.kind == DiskKind::Loop && disk.loop_direct_io == Some(false));
    buffered.map(|disk| Advice {
        what: format!(
            "{} reads and writes through the page cache of its file, where a kernel thread asks in place of the job: with direct \
             I/O the disk below sees whose request it is, and nothing is cached twice.",
            disk.name
        ),
        command: Some(format!("sudo losetup --direct-io=on /dev/{}", disk.name)),
    })
}

/// Why something does not work, for a line that says so.
pub(super) fn because(trial: &Attempt) -> String {
    match trial {
        Attempt::Works => "works".to_owned(),
        Attempt::Fails { why, .. } => format!("refused: {why}"),
    }
}

#[cfg(test)]
mod tests;
