//! The job's CPU class is in force: a foreground in a control group of its own comes before a job that was started in another.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{lull_run, needs_root, send, wait_for_end, wait_until};
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;

/// How long both compute before it is counted who had what.
const WINDOW: Duration = Duration::from_secs(2);
const SPIN: &str = "while :; do :; done";

/// A group of the cpu controller, at its top, with the weight that new groups have.
struct CpuGroup(PathBuf);

impl CpuGroup {
    fn new(name: &str) -> Option<Self> {
        let facts = CgroupFacts::read(&Root::real(), false);
        let mount = &facts.v1_of("cpu").or(facts.v2.as_ref())?.mount;
        let group = mount.join(format!("lull-test-{name}-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        let group = Self(group);
        let has_cpu = ["cpu.shares", "cpu.weight"].iter().any(|file| group.0.join(file).exists());
        has_cpu.then_some(group)
    }

    /// Has a command started in the group.
    fn start(&self, command: &Command) -> Child {
        let procs = self.0.join("cgroup.procs");
        let mut all = Command::new("sh");
        all.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs);
        all.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            all.env(name, value.unwrap());
        }
        all.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        wait_until("an empty group", || std::fs::remove_dir(&self.0).is_ok());
    }
}

/// A shell that computes on CPU 0 and tells its number first.
fn spinner(before: &[&str]) -> Command {
    let words = [before, &["taskset", "-c", "0", "sh", "-c"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(format!("echo $$; {SPIN}"));
    command
}

fn pid_of(child: &mut Child) -> u32 {
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    line.trim().parse().unwrap()
}

fn cpu_time_ns(pid: u32) -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// The foreground's share of what both had of the CPU.
fn share(foreground: &CpuGroup, caller: &CpuGroup, job: &Command) -> f64 {
    let mut job = caller.start(job);
    let job_pid = pid_of(&mut job);
    let mut front = foreground.start(&spinner(&[]));
    let front_pid = pid_of(&mut front);
    let both = || [front_pid, job_pid].map(cpu_time_ns);
    let before = both();
    std::thread::sleep(WINDOW);
    let after = both();
    for pid in [front_pid, job_pid] {
        send(pid, libc::SIGKILL);
    }
    wait_for_end(&mut front);
    wait_for_end(&mut job);
    let [front, job] = [0, 1].map(|index| (after[index] - before[index]) as f64);
    front / (front + job)
}

#[test]
fn root_a_foreground_in_another_group_comes_first() {
    if !needs_root() {
        return;
    }
    let (Some(foreground), Some(caller)) = (CpuGroup::new("foreground"), CpuGroup::new("caller")) else {
        println!("SKIPPED: no groups of the cpu controller can be made at the top here");
        return;
    };
    // The class of a task alone is compared inside its group: the two groups share.
    let alone = share(&foreground, &caller, &spinner(&["chrt", "-i", "0"]));
    assert!(alone < 0.75, "the foreground had {alone:.3} beside SCHED_IDLE in another group");
    let spin = format!("echo $$; {SPIN}");
    let words = ["taskset", "-c", "0", "sh", "-c", &spin];
    // Without the lending of whole CPUs, which would hold the job.
    let lull = share(&foreground, &caller, &lull_run(&["--resources", "disk"], &words));
    assert!(lull >= 0.9, "the foreground had {lull:.3} beside lull run in another group");
    println!("the foreground's share: {alone:.3} beside SCHED_IDLE, {lull:.3} beside lull run");
}
