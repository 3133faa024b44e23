//! `lull reserve exec --disk` on a real mount and a loop device of the test's own: results stay what they are, shares hold, and who is left
//! lets calls pass when the mount is killed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, OpenOptions};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use common::loopdev::Loop;
use common::{finish, lull, needs_root, output, processes, send, wait_until};

/// One tree at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A disk with two reservations.
struct Bed {
    dir: tempfile::TempDir,
    device: PathBuf,
    // Detached after the mount is gone.
    _disk: Option<Loop>,
    _alone: std::sync::MutexGuard<'static, ()>,
}

fn bed(first: &str, second: &str) -> Option<Bed> {
    if !needs_root() {
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let disk = Loop::new(dir.path())?;
    let mut pattern = vec![0_u8; 8 << 20];
    let mut state = 88;
    pattern.chunks_exact_mut(4).for_each(|chunk| {
        chunk.copy_from_slice(&common::next_random(&mut state).to_le_bytes()[..4]);
    });
    OpenOptions::new().write(true).open(&disk.path).unwrap().write_all(&pattern).unwrap();
    Bed::start(dir, disk.path.clone(), Some(disk), alone, first, second)
}

impl Bed {
    /// The same on a disk that is there.
    fn on(device: &Path, first: &str, second: &str) -> Option<Self> {
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Self::start(tempfile::tempdir().unwrap(), device.to_owned(), None, alone, first, second)
    }

    fn start(
        dir: tempfile::TempDir,
        device: PathBuf,
        disk: Option<Loop>,
        alone: std::sync::MutexGuard<'static, ()>,
        first: &str,
        second: &str,
    ) -> Option<Self> {
        let bed = Self { dir, device, _disk: disk, _alone: alone };
        let done = output(lull().args(["reserve", "mount"]).arg(bed.point()));
        if !done.status.success() || !bed.reservation("").is_dir() {
            eprintln!("SKIPPED: disks cannot be reserved here: {}", told(&done));
            return None;
        }
        for (name, share) in [("r0", first), ("r1", second)] {
            fs::create_dir(bed.reservation(name)).unwrap();
            fs::write(bed.reservation(name).join("share"), share).unwrap();
        }
        Some(bed)
    }

    fn point(&self) -> PathBuf {
        self.dir.path().join("reserv")
    }

    fn device(&self) -> &str {
        self.device.to_str().unwrap()
    }

    fn reservation(&self, name: &str) -> PathBuf {
        self.point().join(self.device.file_name().unwrap()).join(name)
    }

    fn exec(&self, name: &str, script: &str) -> Command {
        let mut command = lull();
        command
            .args(["reserve", "exec", "--disk"])
            .arg(self.reservation(name))
            .args(["--", "sh", "-c", script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Requests and bytes of the default queue.
    fn served(&self, name: &str) -> (u64, u64) {
        let text = fs::read_to_string(self.reservation(name).join("q0/backlog")).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap());
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    fn server(&self) -> u32 {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = table.lines().rev().find(|line| line.contains(self.point().to_str().unwrap())).unwrap();
        let source = line.split_whitespace().find_map(|word| word.strip_prefix("lull-reserve:")).unwrap();
        source.split(':').next().unwrap().parse().unwrap()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let done = output(lull().args(["reserve", "unmount", "--lazy"]).arg(self.point()));
        if !std::thread::panicking() {
            assert!(done.status.success(), "{}", told(&done));
        }
    }
}

/// What it said on standard error.
fn told(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Pages of the device leave the cache.
fn forget(device: &str) {
    let done = Command::new("blockdev").args(["--flushbufs", device]).status().unwrap();
    assert!(done.success());
}

#[test]
fn root_results_and_statuses_are_the_command_s_own() {
    let Some(bed) = bed("50% 50", "40% 40") else { return };
    let plain = output(Command::new("sha256sum").arg(bed.device()));
    forget(bed.device());
    let script =
        format!("sha256sum {}; cat /proc/self/status | grep Seccomp:; sleep 0.3; exit 7", bed.device());
    let child = bed.exec("r0", &script).spawn().unwrap();
    wait_until("bytes are counted", || bed.served("r0").1 >= 8 << 20);
    let gated = finish(child);
    assert_eq!(gated.status.code(), Some(7), "{}", told(&gated));
    let text = String::from_utf8(gated.stdout).unwrap();
    let [sum, filter] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(sum, String::from_utf8(plain.stdout).unwrap().trim_end());
    assert!(filter.ends_with('2'), "it runs under a filter: {filter}");

    let write =
        format!("head -c 8388608 /dev/zero | dd of={} bs=1M iflag=fullblock conv=fsync", bed.device());
    assert!(output(&mut bed.exec("r1", &write)).status.success());
    forget(bed.device());
    assert!(fs::read(bed.device()).unwrap().iter().all(|byte| *byte == 0), "what was written is there");

    let missing =
        output(lull().args(["reserve", "exec", "--disk"]).arg(bed.reservation("r0")).arg("/no/such"));
    assert_eq!(missing.status.code(), Some(127));
    assert!(told(&missing).contains("cannot execute"), "{}", told(&missing));
}

#[test]
fn root_busy_reservations_get_their_shares() {
    if !needs_root() || !Path::new("/dev/fuse").exists() {
        return;
    }
    // A disk that is slower than anything else here: requests wait in queues, and nowhere else.
    let mut slow = lull().args(["load", "slow-disk"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(slow.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let device = line.trim().to_owned();
    if let Some(bed) = Bed::on(Path::new(&device), "75% 75", "15% 15") {
        let load = format!("exec $LULL load disk-random --file {device} --block 64KiB --threads 12");
        let program = lull().get_program().to_owned();
        let start = |name: &str| bed.exec(name, &load).env("LULL", &program).spawn().unwrap();
        let children = [start("r0"), start("r1")];
        wait_until("both are at work", || bed.served("r0").0 > 20 && bed.served("r1").0 > 4);
        let before = [bed.served("r0").1, bed.served("r1").1];
        wait_until("the second had its part", || bed.served("r1").1 - before[1] >= 30 * 64 * 1024);
        let (first, second) = (bed.served("r0").1 - before[0], bed.served("r1").1 - before[1]);
        for child in children {
            send(child.id(), libc::SIGTERM);
            drop(finish(child));
        }
        let ratio = first as f64 / second as f64;
        assert!((3.5..7.0).contains(&ratio), "five to one was reserved: {first} and {second} bytes, {ratio}");
    }
    send(slow.id(), libc::SIGTERM);
    common::wait_for_end(&mut slow);
}

#[test]
fn root_two_descriptors_of_one_file_wait_in_different_queues() {
    let Some(bed) = bed("50% 50", "40% 40") else { return };
    for name in ["q1", "q2"] {
        let queue = bed.reservation("r0").join(name);
        fs::create_dir(&queue).unwrap();
        fs::write(queue.join("share"), "10% 1").unwrap();
    }
    forget(bed.device());
    // The third reads through a copy of a tagged descriptor, which dd has as its standard input; the last through a number that was given again.
    let script = format!(
        "exec 3<{device} 4<{device}
         echo {r0}/q1 > {mount}/proc/$$/fd/3; echo {r0}/q2 > {mount}/proc/$$/fd/4
         cat {mount}/proc/$$/fd/3 {mount}/proc/$$/fd/4
         read_at() {{ dd bs=64k count=8 skip=$1 of=/dev/null 2>/dev/null; cat {r0}/q*/backlog | cut -d' ' -f2 | tr '\n' ' '; echo; }}
         read_at 0 <&3; read_at 16 <&4; exec 3<&- 3<{device}; read_at 64 <&3
         echo {r0}/q1 > {mount}/proc/$$/fd/4; read_at 32 <&4
         echo default > {mount}/proc/$$/fd/4; read_at 32 <&4; echo {r0}/q1 > {mount}/proc/$$/fd/1",
        device = bed.device(),
        r0 = bed.reservation("r0").display(),
        mount = bed.point().display(),
    );
    let done = output(&mut bed.exec("r0", &script));
    let text = String::from_utf8(done.stdout.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}{}", told(&done));
    assert!(lines[0].ends_with("/r0/q1") && lines[1].ends_with("/r0/q2"), "{text}");
    let bytes: Vec<Vec<u64>> = lines[2..]
        .iter()
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    // The default queue, q1, q2, after each reader; read-ahead may do more than was asked for, programs read a little, too.
    let grown: Vec<usize> = (0..bytes.len())
        .map(|turn| {
            let before = |queue: usize| if turn == 0 { 0 } else { bytes[turn - 1][queue] };
            (0..3).max_by_key(|queue| bytes[turn][*queue] - before(*queue)).unwrap()
        })
        .collect();
    assert_eq!(grown, [1, 2, 0, 1, 0], "{text}");
    let log = fs::read_to_string(bed.point().join("log")).unwrap();
    assert!(log.contains("is no file on"), "a pipe cannot be tagged: {log}");

    let outside =
        Command::new("sleep").arg("1000").stdin(fs::File::open(bed.device()).unwrap()).spawn().unwrap();
    let queue = bed.reservation("r0").join("q1");
    let tagged = output(lull().args(["reserve", "tag", &outside.id().to_string(), "0"]).arg(&queue));
    assert!(!tagged.status.success() && told(&tagged).contains("was not started by"), "{}", told(&tagged));
    send(outside.id(), libc::SIGKILL);
    drop(outside.wait_with_output());
    wait_until("the closed descriptors do not keep the queue", || fs::remove_dir(&queue).is_ok());
}

/// Processes wait for a disk that does not answer; those of another one do not.
#[test]
fn root_a_hung_disk_holds_nobody_of_another() {
    if !needs_root() || !Path::new("/dev/fuse").exists() {
        return;
    }
    let mut slow = lull().args(["load", "slow-disk"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(slow.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let hung = line.trim().to_owned();
    if let Some(bed) = bed("50% 50", "40% 40") {
        let slow_disk = bed.point().join(Path::new(&hung).file_name().unwrap());
        fs::create_dir(slow_disk.join("r0")).unwrap();
        fs::write(slow_disk.join("r0/share"), "50% 50").unwrap();
        let daemon = common::children(slow.id()).first().unwrap().1;
        assert!(send(daemon, libc::SIGSTOP));
        let both = |script: &str| {
            let mut command = lull();
            command.args(["reserve", "exec", "--disk"]).arg(bed.reservation("r0"));
            command.arg("--disk").arg(slow_disk.join("r0")).args(["--", "sh", "-c", script]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        forget(bed.device());
        // All under one filter: who receives the calls must not wait for the disk, either.
        let script = format!(
            "for at in 0 1 2 3 4 5; do dd if={hung} of=/dev/null bs=64k count=1 skip=$at 2>/dev/null & done
             until grep -q '^[1-9]' {slow}/r0/q0/backlog; do sleep 0.1; done
             sha256sum {device} && cat {own}/q0/backlog && echo done; wait",
            slow = slow_disk.display(),
            device = bed.device(),
            own = bed.reservation("r0").display(),
        );
        let mut child = both(&script).spawn().unwrap();
        let told = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let lines: Vec<String> = told.map(Result::unwrap).take_while(|line| line != "done").collect();
        let bytes: u64 = lines.last().unwrap().split_once(' ').unwrap().1.parse().unwrap();
        assert!(bytes >= 8 << 20, "its bytes went through the queue: {lines:?}");
        assert!(send(daemon, libc::SIGCONT));
        assert!(finish(child).status.success());
    }
    send(slow.id(), libc::SIGTERM);
    common::wait_for_end(&mut slow);
}

/// The scheduler of a disk.
fn scheduler(device: &str) -> PathBuf {
    Path::new("/sys/block").join(Path::new(device).file_name().unwrap()).join("queue/scheduler")
}

#[test]
fn root_bfq_has_the_weights_of_the_shares_where_it_is_selected() {
    if !needs_root() {
        return;
    }
    let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = Loop::new(dir.path()) else { return };
    let device = disk.path.clone();
    if fs::write(scheduler(device.to_str().unwrap()), "bfq").is_err()
        || !Path::new("/sys/fs/cgroup/blkio").exists()
    {
        eprintln!("SKIPPED: no BFQ, or no control groups of v1 for disks");
        return;
    }
    let Some(bed) = Bed::start(dir, device, Some(disk), alone, "80% 1", "10% 0") else { return };
    let own = format!("lull-{}-", bed.server());
    let weight_of = |pid: u32| {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let line = groups.lines().find(|line| line.contains(":blkio:")).unwrap();
        let group = line.splitn(3, ':').nth(2).unwrap().to_owned();
        assert!(group.contains(&own), "{group}");
        let file = format!("/sys/fs/cgroup/blkio{group}/blkio.bfq.weight_device");
        let text = fs::read_to_string(&file).unwrap();
        text.lines().last().unwrap().rsplit_once(' ').unwrap().1.parse::<u32>().unwrap()
    };
    let children = ["r0", "r1"].map(|name| bed.exec(name, "exec sleep 1000").spawn().unwrap());
    for child in &children {
        wait_until("it has become the command", || common::name_of(child.id()) == "sleep");
    }
    assert_eq!(
        children.each_ref().map(|child| weight_of(child.id())),
        [900, 100],
        "the rest goes to who has a weight"
    );
    fs::write(bed.reservation("r0/share"), "40% 1").unwrap();
    fs::write(bed.reservation("r1/share"), "20% 0").unwrap();
    assert_eq!(children.each_ref().map(|child| weight_of(child.id())), [800, 200]);
    let server = bed.server();
    for child in children {
        send(child.id(), libc::SIGKILL);
        drop(finish(child));
    }
    drop(bed);
    assert_eq!(common::groups_of(server), Vec::<PathBuf>::new());
}

#[test]
fn root_if_the_mount_is_killed_calls_pass() {
    let Some(bed) = bed("50% 50", "40% 40") else { return };
    let plain = output(Command::new("sha256sum").arg(bed.device()));
    let script = format!(
        "for turn in $(seq 200); do sha256sum {0}; dd if={0} of=/dev/null bs=64k iflag=direct 2>/dev/null || exit 9; done | sort -u",
        bed.device()
    );
    let child = bed.exec("r0", &script).spawn().unwrap();
    wait_until("it is at work", || bed.served("r0").0 > 200);
    let server = bed.server();
    assert!(send(server, libc::SIGKILL));
    let done = finish(child);
    assert!(done.status.success(), "{}", told(&done));
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&plain.stdout),
        "one sum, the right one"
    );
    let keepers = || {
        let is_keeper = |pid: &u32| {
            common::name_of(*pid) == "lull-keeper"
                && common::state_of(*pid).is_some_and(|(state, _)| state != 'Z')
        };
        processes().iter().filter(|pid| is_keeper(pid)).count()
    };
    common::wait_at_most(Duration::from_secs(20), "the keeper has ended", || keepers() == 0);
}

#[test]
fn root_a_command_that_cannot_be_gated_is_not_started() {
    let Some(bed) = bed("50% 50", "40% 40") else { return };
    let inner = format!(
        "{} reserve exec --disk {} -- touch {}",
        lull().get_program().to_str().unwrap(),
        bed.reservation("r0").display(),
        bed.dir.path().join("ran").display()
    );
    let done = output(&mut bed.exec("r0", &inner));
    assert_eq!(done.status.code(), Some(125), "{}", told(&done));
    assert!(told(&done).contains("can have no second one"), "{}", told(&done));
    assert!(!Path::new(&bed.dir.path().join("ran")).exists());
}
