//! The findings in words.

use lull_linux::marks::{Choice, Effect};
use lull_linux::probe::{Attempt, CgroupFacts, DiskFacts, Facts, Hierarchy, IoprioLevel, Layout};
use lull_linux::topology::DiskKind;

use super::page::{Page, Tone};
use super::{Asked, Findings};

/// Mount points shown per disk.
const MOUNTS_SHOWN: usize = 4;

/// Writes the page.
pub(super) fn write(page: &mut Page, findings: &Findings) {
    match &findings.asked {
        Some(asked) => served(page, asked),
        None => host(page, findings),
    }
    for disk in &findings.facts.disks {
        describe(page, disk, &findings.facts);
    }
    improvements(page, findings);
}

fn host(page: &mut Page, findings: &Findings) {
    let Findings { facts, plan, .. } = findings;
    page.section("Kernel and user");
    kernel_and_user(page, facts);
    page.section("Sensor: how the disks are observed");
    choice(page, &plan.sensor);
    page.line(
        "BTF",
        good_or_bad(facts.bpf.btf),
        if facts.bpf.btf { "yes" } else { "no: /sys/kernel/btf/vmlinux is missing" },
    );
    trial(page, "BPF maps", &facts.bpf.map);
    trial(page, "BPF tracing programs", &facts.bpf.tracing);
    page.section("Request gate: how single requests of the job are held");
    choice(page, &plan.request_gate);
    request_gate(page, facts);
    if let Some(signals) = &findings.signals {
        signals.write(page);
    }
    page.section("Hold gate: how the whole job is held");
    choice(page, &plan.hold_gate);
    page.section("CPUs: how computing is lent");
    choice(page, &plan.cpus);
    if let Some(class) = &findings.class {
        class.write(page);
    }
    page.section("Class marks: how the kernel tells the job from the rest");
    for reason in &plan.reasons {
        let (tone, word) = match reason.effect {
            Effect::Takes => (Tone::Good, "takes effect"),
            Effect::Partly => (Tone::Fair, "partly"),
            Effect::NoEffect => (Tone::Fair, "no effect"),
            Effect::Refused => (Tone::Bad, "refused"),
        };
        page.line(&reason.what, tone, &format!("{word}: {}", reason.why));
    }
    if let Some(memory) = &findings.memory {
        memory.write(page);
    }
    if let Some(network) = &findings.network {
        network.write(page, facts);
    }
    if let Some(reservations) = &findings.reservations {
        reservations.write(page);
    }
    if let Some(condor) = &findings.htcondor {
        condor.write(page);
    }
}

fn kernel_and_user(page: &mut Page, facts: &Facts) {
    let cpu = &facts.cpu;
    let cpus = if cpu.cpus == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", cpu.cpus) };
    let swap =
        if cpu.swap_bytes == 0 { "no swap".to_owned() } else { format!("{} swap", size(cpu.swap_bytes)) };
    let machine = format!("{}, {cpus}, {} memory, {swap}", facts.kernel.release, size(cpu.memory_bytes));
    page.line("kernel", Tone::Plain, &machine);
    let user = &facts.user;
    let who = if user.euid == 0 { "root".to_owned() } else { format!("user {}", user.euid) };
    let rights = match (user.capabilities.as_slice(), user.missing_capabilities.as_slice()) {
        (_, []) => "with all capabilities that lull can use".to_owned(),
        ([], _) => "without capabilities".to_owned(),
        (_, missing) => format!("without {}", missing.join(", ")),
    };
    page.line("user", Tone::Plain, &format!("{who}, {rights}"));
    page.line("control groups", Tone::Plain, &layout(&facts.cgroups));
    let pressure = match facts.kernel.pressure.as_slice() {
        [] => "not available".to_owned(),
        some => some.join(", "),
    };
    page.line("pressure (PSI)", Tone::Plain, &pressure);
    let autogroup = match (cpu.autogroup.enabled, cpu.autogroup.applies) {
        (false, _) => "off".to_owned(),
        (true, true) => format!("on, and applies here: {}", cpu.autogroup.why),
        (true, false) => format!("on, but does not apply here: {}", cpu.autogroup.why),
    };
    page.line("autogroup", Tone::Plain, &autogroup);
    page.line("nice -n 19", if cpu.autogroup.applies { Tone::Fair } else { Tone::Plain }, nice(facts));
}

/// What the popular remedy does here.
const fn nice(facts: &Facts) -> &'static str {
    if facts.cpu.autogroup.applies {
        "no effect between sessions: autogroup gives each session its own share of the CPU; and none on disks"
    } else {
        "a small share of the CPU within one control group; no effect on disks"
    }
}

fn layout(cgroups: &CgroupFacts) -> String {
    let mounted = |hierarchy: &Hierarchy| hierarchy.mount.display().to_string();
    let v2 = cgroups.v2.as_ref();
    let v1: Vec<_> = cgroups.v1.iter().map(|hierarchy| hierarchy.controllers.join("+")).collect();
    let own = v2.map(|v2| format!(", own group {}", v2.own_path)).unwrap_or_default();
    match (cgroups.layout, v2) {
        (Layout::V2, Some(v2)) => format!("v2 at {}{own}", mounted(v2)),
        (_, Some(v2)) => format!("hybrid: v2 at {}{own}; v1 {}", mounted(v2), v1.join(", ")),
        (Layout::Absent, None) => "none mounted".to_owned(),
        (_, None) => format!("v1: {}", v1.join(", ")),
    }
}

fn request_gate(page: &mut Page, facts: &Facts) {
    let seccomp = &facts.seccomp;
    if !seccomp.usable() {
        return;
    }
    let feature = |page: &mut Page, label: &str, has: bool, with: &str, without: &str| {
        page.line(label, if has { Tone::Good } else { Tone::Fair }, if has { with } else { without });
    };
    let slow = "no (kernel 6.6 has it): a held call costs about 12 µs instead of 4";
    feature(page, "synchronous wake-up", seccomp.sync_wake_up, "yes", slow);
    let restarts = "no (kernel 5.19 has it): a held call starts again when a signal comes";
    feature(page, "killable wait", seccomp.wait_killable, "yes", restarts);
    let loses = "lose their extra rights in the job: without CAP_SYS_ADMIN the gate needs no_new_privs";
    feature(page, "setuid programs", !seccomp.needs_no_new_privs, "keep working in the job", loses);
}

fn choice(page: &mut Page, choice: &Choice) {
    let tone = if choice.best { Tone::Good } else { Tone::Fair };
    page.line("in use", tone, &format!("{}: {}", choice.name, choice.why));
}

const fn good_or_bad(good: bool) -> Tone {
    if good { Tone::Good } else { Tone::Bad }
}

fn trial(page: &mut Page, label: &str, trial: &Attempt) {
    page.line(label, good_or_bad(trial.works()), &super::advice::because(trial));
}

fn served(page: &mut Page, asked: &Asked) {
    page.section(&format!("{} is served by", asked.path.display()));
    if asked.served_by.is_empty() {
        page.paragraph(
            "no local disk: it is in memory or on another machine. lull lets requests to it pass.",
        );
        return;
    }
    for disk in &asked.served_by {
        page.line(&disk.name, Tone::Plain, &format!("{} ({})", disk.kind.describe(), disk.dev));
    }
}

fn describe(page: &mut Page, disk: &DiskFacts, facts: &Facts) {
    page.section(&format!("Disk {} ({})", disk.name, disk.dev));
    page.line("what", Tone::Plain, &what(disk));
    if !disk.below.is_empty() {
        page.line("on top of", Tone::Plain, &disk.below.join(", "));
    }
    if !disk.mounts.is_empty() {
        page.line("mounted at", Tone::Plain, &mounts(disk));
    }
    page.line("scheduler", Tone::Plain, &scheduler(disk));
    let (tone, effect) = match disk.ioprio.level {
        IoprioLevel::None if decided_below(disk) => (Tone::Plain, "depends"),
        IoprioLevel::None => (Tone::Fair, "no effect"),
        IoprioLevel::Order => (Tone::Fair, "little effect"),
        IoprioLevel::Full => (Tone::Good, "full effect"),
    };
    page.line("ionice -c 3", tone, &format!("{effect}: {}", disk.ioprio.why));
    page.line("nice -n 19", Tone::Fair, "no effect: it orders programs on the CPU, not requests to a disk");
    page.line("lull run", Tone::Plain, lull_here(disk, facts));
}

/// What lull does on this disk.
fn lull_here(disk: &DiskFacts, facts: &Facts) -> &'static str {
    match (disk.kind, disk.ioprio.level, facts.seccomp.usable()) {
        (DiskKind::Zram, ..) => "lets requests pass: memory has no queue to protect",
        (_, IoprioLevel::Full, true) => {
            "holds requests while the foreground is active, and leaves the rest to bfq"
        }
        (_, _, true) => "holds requests before they enter the queue: no other scheduler is needed",
        (_, IoprioLevel::Full, false) => {
            "holds the whole job while the foreground is active, and leaves the rest to bfq"
        }
        (_, _, false) => "holds the whole job while the foreground is active",
    }
}

const fn decided_below(disk: &DiskFacts) -> bool {
    matches!(disk.kind, DiskKind::DeviceMapper | DiskKind::Raid | DiskKind::Stacked)
}

fn what(disk: &DiskFacts) -> String {
    let mut words = vec![disk.kind.describe().to_owned()];
    words.extend(disk.model.clone());
    words.push(size(disk.size_bytes));
    if disk.kind == DiskKind::Disk {
        // Many virtual disks claim to spin, so the claim is told as one.
        words.extend(
            disk.rotational.map(|spins| if spins { "says it spins" } else { "does not spin" }.to_owned()),
        );
    }
    if disk.kind == DiskKind::Loop {
        words.extend(
            disk.loop_direct_io.map(|dio| if dio { "direct I/O" } else { "no direct I/O" }.to_owned()),
        );
    }
    words.join(", ")
}

fn mounts(disk: &DiskFacts) -> String {
    let mut shown: Vec<_> =
        disk.mounts.iter().take(MOUNTS_SHOWN).map(|point| point.display().to_string()).collect();
    if disk.mounts.len() > MOUNTS_SHOWN {
        shown.push(format!("{} more", disk.mounts.len() - MOUNTS_SHOWN));
    }
    shown.join(", ")
}

fn scheduler(disk: &DiskFacts) -> String {
    let mut text = disk.scheduler.clone().unwrap_or_else(|| "none of its own".to_owned());
    let others: Vec<_> =
        disk.schedulers.iter().filter(|name| Some(*name) != disk.scheduler.as_ref()).cloned().collect();
    if !others.is_empty() {
        text += &format!(" (also here: {})", others.join(", "));
    }
    if let Some(requests) = disk.nr_requests {
        text += &format!(", {requests} requests");
    }
    if let Some(kib) = disk.read_ahead_kib {
        text += &format!(", {} read-ahead", size(kib.saturating_mul(1024)));
    }
    if let Some(wbt) = disk.wbt_us.filter(|&wbt| wbt > 0) {
        text += &format!(", write-back throttled to {}", lull_core::Nanos::from_micros(wbt.unsigned_abs()));
    }
    text
}

fn improvements(page: &mut Page, findings: &Findings) {
    if findings.advice.is_empty() && findings.asked.is_some() {
        return;
    }
    page.section("What would improve it");
    if findings.advice.is_empty() {
        page.paragraph("Nothing that lull knows of: everything it can use is here.");
    }
    for advice in &findings.advice {
        page.item(&advice.what);
        if let Some(command) = &advice.command {
            page.command(command);
        }
    }
}

/// Bytes in the largest binary unit that leaves at least one whole.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let power = (bytes.max(1).ilog2() / 10).min(5);
    let value = bytes as f64 / (1_u64 << (10 * power)) as f64;
    let unit = units.get(power as usize).copied().unwrap_or("PiB");
    if value >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests;
