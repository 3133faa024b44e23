//! `lull reserve` on a real mount: files as a shell uses them, refusals, domains, users, kill -9, many reservations; nothing is left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use common::{clean_text, lull, needs_root, output, send, state_of, wait_until};

/// One tree of groups at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A mount, unmounted when dropped.
struct Mount {
    dir: tempfile::TempDir,
    server: u32,
    _alone: std::sync::MutexGuard<'static, ()>,
}

/// Mounts; `None` if this host has not what it takes.
fn mount() -> Option<Mount> {
    if !needs_root() {
        return None;
    }
    if !Path::new("/dev/fuse").exists() {
        eprintln!("SKIPPED: no /dev/fuse");
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    // Other users are to see it.
    Command::new("chmod").arg("755").arg(dir.path()).status().unwrap();
    let point = dir.path().join("reserv");
    let done = output(lull().args(["reserve", "mount"]).arg(&point));
    if !done.status.success() {
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(told.contains("nothing can be reserved"), "{told}");
        eprintln!("SKIPPED: {told}");
        return None;
    }
    let server = server_of(&point);
    Some(Mount { dir, server, _alone: alone })
}

/// Who serves a mount, as the mount table names it.
fn server_of(point: &Path) -> u32 {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table.lines().rev().find(|line| line.contains(point.to_str().unwrap())).unwrap();
    let source = line.split_whitespace().find_map(|word| word.strip_prefix("lull-reserve:")).unwrap();
    source.split(':').next().unwrap().parse().unwrap()
}

impl Mount {
    fn point(&self) -> PathBuf {
        self.dir.path().join("reserv")
    }

    fn path(&self, below: &str) -> PathBuf {
        self.point().join(below)
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    /// As `echo TEXT > FILE` does.
    fn write(&self, below: &str, text: &str) -> std::io::Result<()> {
        OpenOptions::new().write(true).truncate(true).open(self.path(below))?.write_all(text.as_bytes())
    }

    fn exec(&self, reservation: &str, words: &[&str]) -> Command {
        let mut command = lull();
        command.args(["reserve", "exec", "--cpu"]).arg(self.path(reservation)).arg("--").args(words);
        command
    }

    /// A command in a reservation, until its input is closed.
    fn sleeper(&self, reservation: &str) -> Child {
        let mut command = self.exec(reservation, &["cat"]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        wait_until("the command to run", || {
            fs::read_to_string(format!("/proc/{}/comm", child.id())).is_ok_and(|name| name.trim() == "cat")
        });
        child
    }

    fn unmount(&self) {
        let done = output(lull().args(["reserve", "unmount"]).arg(self.point()));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self.assert_gone();
    }

    /// Neither mount, nor server, nor group.
    fn assert_gone(&self) {
        let point = self.point();
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!table.contains(point.to_str().unwrap()));
        assert!(state_of(self.server).is_none_or(|(state, _)| state == 'Z'));
        assert_eq!(common::groups_of(self.server), Vec::<PathBuf>::new());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // After a failed test; otherwise there is nothing to unmount.
        let _ =
            lull().args(["reserve", "unmount", "--lazy"]).arg(self.point()).stderr(Stdio::null()).status();
    }
}

fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    common::wait_for_end(&mut child);
}

#[test]
fn root_files_are_created_written_listed_and_refused_with_reasons() {
    let Some(mount) = mount() else { return };
    let cpus = mount.read("cpu/share");
    assert!(cpus.starts_with("100% 100 # "), "{cpus}");
    // Opening creates, and the descriptor is that of the share.
    let mut share = OpenOptions::new().read(true).write(true).open(mount.path("cpu/newreserv")).unwrap();
    share.write_all(b"20% 3\n").unwrap();
    let mut told = String::new();
    share.read_to_string(&mut told).unwrap();
    assert!(told.starts_with("20% 3 # ") && told.trim_end().ends_with("cpu/r0"), "{told}");
    assert_eq!(mount.read("cpu/r0/share"), told);
    assert_eq!(mount.read("cpu/r0/collect"), "1\n");
    for (text, expected) in [
        ("90% 1", libc::ENOSPC),
        ("-1% 1", libc::EINVAL),
        ("1% -1", libc::EINVAL),
        ("99999999999999999999999cpu 1", libc::EINVAL),
        ("nonsense", libc::EINVAL),
        ("", libc::EINVAL),
    ] {
        fs::create_dir(mount.path("cpu/r1")).or_else(|_| mount.write("cpu/r1/share", "0% 0")).unwrap();
        if text.is_empty() {
            // A write of nothing is no write.
            continue;
        }
        assert_eq!(errno(mount.write("cpu/r1/share", text)), expected, "{text}");
    }
    let log = mount.read("log");
    assert!(log.contains("the minima of the children of cpu would be"), "{log}");
    assert!(log.contains("the weight '-1' is less than zero"), "{log}");
    assert_eq!(errno(mount.write("cpu/share", "50% 1")), libc::EPERM);
    assert_eq!(errno(fs::create_dir(mount.path("cpu/x"))), libc::EINVAL);
    assert_eq!(errno(fs::create_dir(mount.path("cpu/r1"))), libc::EEXIST);
    fs::create_dir(mount.path("cpu/r1/q0")).unwrap();
    assert_eq!(errno(fs::create_dir(mount.path("cpu/r1/q0/q0"))), libc::ENOTDIR);
    assert_eq!(errno(fs::remove_dir(mount.path("cpu/r1"))), libc::ENOTEMPTY);
    assert_eq!(errno(fs::remove_file(mount.path("cpu/r1/share"))), libc::EPERM);
    assert_eq!(errno(fs::read_to_string(mount.path("cpu/r9/share"))), libc::ENOENT);
    // What a shell does.
    let script = "cd $0; ls cpu/r1 > /dev/null; echo '10% 1' > cpu/r1/q0/share || echo refused; cat cpu/r1/q0/share; find cpu -name share | wc -l";
    let text = output(Command::new("sh").args(["-c", script]).arg(mount.point()));
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.starts_with("refused\n0% 0 # "), "r1 has promised nothing that it has not: {text}");
    assert!(text.ends_with("\n4\n"), "{text}");
    // The last reference goes, and the reservation with it.
    drop(share);
    wait_until("the reservation to go", || !mount.path("cpu/r0").exists());
    assert!(mount.path("cpu/r1").exists(), "what was made by mkdir stays");
    mount.unmount();
}

#[test]
fn root_a_command_runs_in_its_domain_with_its_children() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    fs::create_dir(mount.path("cpu/r0/r0")).unwrap();
    let done = output(
        &mut mount
            .exec("cpu/r0", &["sh", "-c", "cat $0/proc/self/rdom; exit 7", mount.point().to_str().unwrap()]),
    );
    assert_eq!(done.status.code(), Some(7));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.split_whitespace().next().unwrap().ends_with("/cpu/r0"), "{text}");
    assert_eq!(output(&mut mount.exec("cpu/r0", &["/nonexistent"])).status.code(), Some(127));
    assert_eq!(output(&mut mount.exec("cpu/r7", &["true"])).status.code(), Some(125));
    let first = mount.sleeper("cpu/r0");
    let shown = clean_text(&output(
        lull().args(["reserve", "show", &first.id().to_string()]).arg("--mount").arg(mount.point()),
    ));
    assert!(shown.contains("rdom") && shown.contains("/cpu/r0"), "{shown}");
    assert_eq!(errno(fs::remove_dir(mount.path("cpu/r0/q0"))), libc::EBUSY);
    // Its children may get less, never more.
    let crdom = format!("proc/{}/crdom", first.id());
    assert_eq!(errno(mount.write(&crdom, "/reserv/cpu")), libc::EACCES);
    assert_eq!(errno(mount.write(&crdom, "/reserv/cpu/r0/q0")), libc::EINVAL);
    assert_eq!(errno(mount.write(&format!("proc/{}/rdom", first.id()), "/reserv/cpu/r0/r0")), libc::EACCES);
    end(first);
    let script = "read go; cat $0/proc/self/rdom; cat $0/proc/self/rdom";
    let mut parent = mount
        .exec("cpu/r0", &["sh", "-c", script, mount.point().to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the shell to run", || {
        fs::read_to_string(format!("/proc/{}/comm", parent.id())).is_ok_and(|name| name.trim() == "sh")
    });
    match mount.write(&format!("proc/{}/crdom", parent.id()), "/reserv/cpu/r0/r0") {
        Ok(()) => {
            assert!(mount.read(&format!("proc/{}/crdom", parent.id())).contains("/cpu/r0/r0"));
            assert!(!mount.read(&format!("proc/{}/rdom", parent.id())).contains("/cpu/r0/r0"));
            parent.stdin.take().unwrap().write_all(b"go\n").unwrap();
            let text = String::from_utf8(common::finish(parent).stdout).unwrap();
            // The first may have asked before it was moved.
            assert!(text.lines().last().unwrap().contains("/cpu/r0/r0"), "{text}");
        }
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
            eprintln!("SKIPPED: forks cannot be watched here");
            end(parent);
        }
    }
    mount.unmount();
}

#[test]
fn root_another_users_domain_is_not_entered_nor_changed() {
    let Some(mount) = mount() else { return };
    let as_user = |user: &str, script: &str| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", user, "--regid", user, "--clear-groups", "sh", "-c", script])
            .arg(mount.point());
        output(&mut command)
    };
    if !as_user("4242", "true").status.success() {
        return eprintln!("SKIPPED: no setpriv here");
    }
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    fs::create_dir(mount.path("cpu/r1")).unwrap();
    mount.write("cpu/r0/share", "10% 1").unwrap();
    std::os::unix::fs::chown(mount.path("cpu/r0"), Some(4242), None).unwrap();
    // Its own: written, divided, entered.
    let mine = as_user(
        "4242",
        "cd $0; echo '5% 1' > cpu/r0/share && exec 3<>cpu/r0/newqueue && echo '1% 1' >&3 && \
        echo /reserv/cpu/r0 > proc/$$/enter && cat proc/self/rdom",
    );
    let text = clean_text(&mine);
    assert!(text.contains("/cpu/r0"), "{text}");
    // Everybody lists and reads; nobody else writes, creates or enters.
    let theirs = as_user(
        "4343",
        "cd $0; ls -R cpu > /dev/null; cat cpu/r0/share log status > /dev/null; \
        (echo '1% 1' > cpu/r0/share) 2> /dev/null; echo $?; (: < cpu/r0/newqueue) 2> /dev/null; echo $?; \
        (echo /reserv/cpu/r0 > proc/self/enter) 2> /dev/null; echo $?; (: < cpu/newreserv) 2> /dev/null; echo $?; \
        (echo /reserv/cpu > proc/1/crdom) 2> /dev/null; echo $?; mkdir cpu/r0/r5 2> /dev/null; echo $?",
    );
    let text = clean_text(&theirs);
    assert!(text.split_whitespace().all(|status| status != "0") && text.lines().count() == 6, "{text}");
    assert!(
        mount.read("log").contains("cpu/r0 belongs to user 4242, not to user 4343"),
        "{}",
        mount.read("log")
    );
    // Within a domain its processes are the masters, and nothing outside is theirs, root's neither.
    let inside = output(&mut mount.exec(
        "cpu/r1",
        &[
            "sh",
            "-c",
            "cd $0; echo '2% 2' > cpu/r1/share; echo $?; \
        (echo '2% 2' > cpu/r0/share) 2> /dev/null; echo $?",
            mount.point().to_str().unwrap(),
        ],
    ));
    assert_eq!(clean_text(&inside), "0\n2\n");
    mount.unmount();
}

#[test]
fn root_a_directory_with_something_in_it_is_not_hidden() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("letter"), "").unwrap();
    for point in [dir.path(), Path::new("/"), &dir.path().join("letter")] {
        let done = output(lull().args(["reserve", "mount"]).arg(point));
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success(), "{}: {told}", point.display());
        assert!(["hidden", "no directory", "cannot make"].iter().any(|word| told.contains(word)), "{told}");
    }
    assert!(dir.path().join("letter").exists());
}

#[test]
fn root_after_kill_9_processes_go_on_nothing_hangs_and_the_next_mount_begins_anew() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    mount.write("cpu/r0/share", "50% 50").unwrap();
    let mut worker = mount.sleeper("cpu/r0");
    let group = || fs::read_to_string(format!("/proc/{}/cgroup", worker.id())).unwrap();
    let inside = group();
    assert!(inside.contains("/r0/q0"), "{inside}");
    send(mount.server, libc::SIGKILL);
    wait_until("the mount to be dead", || fs::read_dir(mount.point()).is_err());
    assert_eq!(errno(fs::read_to_string(mount.path("cpu/r0/share"))), libc::ENOTCONN);
    assert_eq!(group(), inside, "weights stay until the next mount");
    let again = output(lull().args(["reserve", "mount"]).arg(mount.point()));
    assert!(again.status.success(), "{again:?}");
    assert!(!group().contains("/r0/q0"), "{}", group());
    assert_eq!(common::groups_of(mount.server), Vec::<PathBuf>::new());
    assert!(!mount.path("cpu/r0").exists());
    // Unmounting a dead mount clears away what is left, too.
    let server = server_of(&mount.point());
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    send(server, libc::SIGKILL);
    wait_until("the mount to be dead", || fs::read_dir(mount.point()).is_err());
    mount.unmount();
    assert_eq!(common::groups_of(server), Vec::<PathBuf>::new());
    assert!(worker.try_wait().unwrap().is_none());
    end(worker);
}

/// What a command that must fail says; one line.
fn complaint(command: &mut Command) -> String {
    let done = output(command);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && told.trim_end().lines().count() == 1, "{done:?}");
    told
}

#[test]
fn root_what_a_killed_and_unmounted_mount_left_is_told_and_dissolved() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    let worker = mount.sleeper("cpu/r0");
    send(mount.server, libc::SIGKILL);
    wait_until("the mount to be dead", || fs::read_dir(mount.point()).is_err());
    for words in [&["top"][..], &["show", "1", "--mount"]] {
        let told = complaint(lull().arg("reserve").args(words).arg(mount.point()));
        assert!(told.contains("is gone") && told.contains("lull reserve unmount"), "{told}");
    }
    assert!(output(Command::new("umount").arg(mount.point())).status.success());
    let groups = common::groups_of(mount.server);
    assert!(!groups.is_empty());
    let findings: serde_json::Value =
        serde_json::from_str(&clean_text(&output(lull().args(["doctor", "--json"])))).unwrap();
    let left = findings["reservations"]["left"].as_array().unwrap();
    assert!(groups.iter().all(|group| left.iter().any(|path| Path::new(path.as_str().unwrap()) == group)));
    mount.unmount();
    assert!(!fs::read_to_string(format!("/proc/{}/cgroup", worker.id())).unwrap().contains("/r0/q0"));
    end(worker);
    let told = complaint(lull().args(["reserve", "unmount"]).arg(mount.point()));
    assert!(told.contains("no reservations are mounted there"), "{told}");
}

#[test]
fn root_paths_may_be_relative_or_through_links() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    std::os::unix::fs::symlink(mount.point(), mount.dir.path().join("link")).unwrap();
    let below = || {
        let mut command = lull();
        command.current_dir(mount.dir.path()).arg("reserve");
        command
    };
    for path in ["reserv/cpu/r0", "./reserv/cpu/../cpu/r0/", "link/cpu/r0"] {
        let text =
            clean_text(&output(below().args(["exec", "--cpu", path, "--", "cat", "/proc/self/cgroup"])));
        assert!(text.contains("/r0/q0"), "{path}: {text}");
    }
    for words in [&["show", "1", "--mount", "reserv"][..], &["top", "reserv", "--interval", "10ms"]] {
        assert!(!clean_text(&output(below().args(words))).is_empty());
    }
    assert!(output(below().args(["unmount", "reserv"])).status.success());
    mount.assert_gone();
}

#[test]
fn root_a_reservation_of_another_resource_is_refused() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    let exec = |option: &str, path: &str| {
        let mut command = lull();
        command.args(["reserve", "exec", option]).arg(mount.path(path)).args(["--", "true"]);
        command
    };
    for option in ["--mem", "--disk"] {
        let told = complaint(&mut exec(option, "cpu/r0"));
        assert!(told.contains(option) && told.contains("a reservation of cpu"), "{told}");
    }
    assert!(output(&mut exec("--in", "cpu/r0")).status.success());
    for path in ["proc/self", "nothing/r0", ""] {
        let told = complaint(&mut exec("--in", path));
        assert!(told.contains("lists the resources"), "{told}");
    }
    if mount.path("mem").exists() {
        let told = complaint(&mut exec("--mem", "mem/r0"));
        assert!(told.contains(&format!("ls {}`", mount.path("mem").display())), "{told}");
        fs::create_dir(mount.path("mem/r0")).unwrap();
        let told = complaint(&mut exec("--cpu", "mem/r0"));
        assert!(told.contains("a reservation of mem"), "{told}");
    }
    mount.unmount();
}

#[test]
fn root_who_reads_no_more_ends_show_quietly() {
    let Some(mount) = mount() else { return };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = lull()
        .args(["reserve", "show", "1", "--mount"])
        .arg(mount.point())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let done = common::finish(done);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(libc::SIGPIPE), "{done:?}");
    assert!(done.stderr.is_empty(), "{done:?}");
    mount.unmount();
}

#[test]
fn root_processes_go_back_when_it_is_unmounted() {
    let Some(mount) = mount() else { return };
    let before = fs::read_to_string("/proc/self/cgroup").unwrap();
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    let worker = mount.sleeper("cpu/r0");
    let open = fs::File::open(mount.path("cpu/share")).unwrap();
    let busy = output(lull().args(["reserve", "unmount"]).arg(mount.point()));
    let told = String::from_utf8_lossy(&busy.stderr).into_owned();
    assert!(!busy.status.success() && told.contains("--lazy"), "{told}");
    assert!(fs::read_to_string(format!("/proc/{}/cgroup", worker.id())).unwrap().contains("/r0/q0"));
    let lazy = output(lull().args(["reserve", "unmount", "--lazy"]).arg(mount.point()));
    assert!(lazy.status.success(), "{lazy:?}");
    mount.assert_gone();
    drop(open);
    assert_eq!(fs::read_to_string(format!("/proc/{}/cgroup", worker.id())).unwrap(), before);
    end(worker);
}

#[test]
fn root_a_copy_of_the_mount_elsewhere_keeps_nothing() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    let worker = mount.sleeper("cpu/r0");
    // As a service with a mount namespace of its own has.
    let mut other = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the other namespace", || {
        fs::read_to_string(format!("/proc/{}/comm", other.id())).is_ok_and(|name| name.trim() == "cat")
    });
    let done = output(Command::new("umount").arg(mount.point()));
    assert!(done.status.success(), "{done:?}");
    wait_until("the groups to go", || common::groups_of(mount.server).is_empty());
    assert!(!fs::read_to_string(format!("/proc/{}/cgroup", worker.id())).unwrap().contains("/r0/q0"));
    drop(other.stdin.take());
    common::wait_for_end(&mut other);
    mount.assert_gone();
    end(worker);
}

#[test]
fn root_memory_is_reserved_beside_cpu_time_and_what_is_held_is_not_promised() {
    let Some(mount) = mount() else { return };
    if !mount.path("mem").exists() {
        return eprintln!("SKIPPED: {}", mount.read("log"));
    }
    for name in ["cpu/r0", "mem/q0", "mem/q1"] {
        fs::create_dir(mount.path(name)).unwrap();
    }
    mount.write("mem/q0/backlog", "max 64MiB").unwrap();
    let mut command = lull();
    command
        .args(["reserve", "exec", "--cpu"])
        .arg(mount.path("cpu/r0"))
        .arg("--mem")
        .arg(mount.path("mem/q0"));
    let mut child = command.args(["--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the command to run", || {
        fs::read_to_string(format!("/proc/{}/comm", child.id())).is_ok_and(|name| name.trim() == "cat")
    });
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
    assert!(groups.lines().any(|line| line.contains(":memory:") && line.ends_with("/q0")), "{groups}");
    assert!(groups.lines().any(|line| line.ends_with("/r0/q0")), "{groups}");
    drop(child.stdin.take());
    common::wait_for_end(&mut child);
    let words = ["--", "dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"];
    let too_much = output(lull().args(["reserve", "exec", "--mem"]).arg(mount.path("mem/q0")).args(words));
    assert!(!too_much.status.success(), "{too_much:?}");
    let fits = output(lull().args(["reserve", "exec", "--in"]).arg(mount.path("mem/q1")).args(words));
    assert!(fits.status.success(), "{fits:?}");
    mount.write("mem/q1/share", "50% 0").unwrap();
    assert_eq!(errno(mount.write("mem/q0/share", "60% 0")), libc::ENOSPC);
    mount.unmount();
}

#[test]
fn root_a_job_of_lull_run_stays_in_its_reservation() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/r0")).unwrap();
    let program = env!("CARGO_BIN_EXE_lull");
    let words = [program, "run", "--quiet", "--resources", "cpu", "--", "cat", "/proc/self/cgroup"];
    let done = output(&mut mount.exec("cpu/r0", &words));
    let text = clean_text(&done);
    assert!(text.lines().any(|line| line.contains("/r0/q0")), "{text}");
    mount.unmount();
}

#[test]
fn root_a_backlog_bounds_forks_and_counts() {
    let Some(mount) = mount() else { return };
    fs::create_dir(mount.path("cpu/q0")).unwrap();
    assert_eq!(errno(mount.write("cpu/q0/backlog", "5 1cpu")), libc::EOPNOTSUPP);
    if mount.write("cpu/q0/backlog", "3 max").is_err() {
        return eprintln!("SKIPPED: no pids controller");
    }
    let script = "exec > /dev/null 2>&1; sleep 100 & sleep 100 & sleep 100 & sleep 100 & wait";
    let done = output(&mut mount.exec("cpu/q0", &["sh", "-c", script]));
    assert!(!done.status.success(), "the fourth does not fit");
    let top = clean_text(&output(
        lull().args(["reserve", "top", "--json", "--interval", "10ms"]).arg(mount.point()),
    ));
    let rows: serde_json::Value = serde_json::from_str(&top).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["path"] == "cpu/q0").unwrap();
    assert!(row["refused"].as_u64().unwrap() > 0 && row["most_requests"] == 3, "{row}");
    let told = mount.read("cpu/q0/backlog");
    assert!(told.starts_with("1 "), "{told}");
    mount.write("cpu/q0/backlog", "max max").unwrap();
    assert_eq!(mount.read("cpu/q0/backlog").split_whitespace().next(), Some("0"));
    // What the shell has left there.
    for group in common::groups_of(mount.server) {
        let left = fs::read_to_string(group.join("q0/cgroup.procs")).unwrap_or_default();
        for pid in left.lines() {
            send(pid.parse().unwrap(), libc::SIGKILL);
        }
    }
    mount.unmount();
}

#[test]
fn root_shares_hold_between_two_that_compute() {
    let Some(mount) = mount() else { return };
    for (name, share) in [("cpu/r0", "75% 75"), ("cpu/r1", "0% 25")] {
        fs::create_dir(mount.path(name)).unwrap();
        mount.write(&format!("{name}/share"), share).unwrap();
    }
    let cpus = std::thread::available_parallelism().unwrap().get();
    let mut hogs = Vec::new();
    for name in ["cpu/r0", "cpu/r1"] {
        for _ in 0..2 * cpus {
            let mut command = mount.exec(name, &["sh", "-c", "read go; while :; do :; done"]);
            hogs.push(command.stdin(Stdio::piped()).spawn().unwrap());
        }
    }
    wait_until("all of them to be there", || {
        hogs.iter().all(|hog| {
            fs::read_to_string(format!("/proc/{}/comm", hog.id())).is_ok_and(|name| name.trim() == "sh")
        })
    });
    for hog in &mut hogs {
        hog.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let top = output(lull().args(["reserve", "top", "--json", "--interval", "3s"]).arg(mount.point()));
    for mut hog in hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    let rows: serde_json::Value = serde_json::from_str(&clean_text(&top)).unwrap();
    let of = |path: &str, what: &str| {
        rows.as_array().unwrap().iter().find(|row| row["path"] == path).unwrap()[what].as_f64().unwrap()
    };
    let share = of("cpu/r0", "gets") / (of("cpu/r0", "gets") + of("cpu/r1", "gets"));
    assert!((0.6..0.9).contains(&share), "{share}");
    assert_eq!(of("cpu/r0", "due") / of("cpu", "due"), 0.75);
    mount.unmount();
}

#[test]
fn root_a_thousand_reservations() {
    let Some(mount) = mount() else { return };
    let begun = Instant::now();
    for _ in 0..1_000 {
        // Kept by a cleared flag: one needs no thousand descriptors.
        let mut share = OpenOptions::new().read(true).write(true).open(mount.path("cpu/newqueue")).unwrap();
        let mut told = String::new();
        share.read_to_string(&mut told).unwrap();
        let name = told.split_whitespace().last().unwrap();
        fs::write(format!("{name}/collect"), "0").unwrap();
    }
    let created = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(fs::read_dir(mount.path("cpu")).unwrap().count(), 1_003);
    let listed = begun.elapsed();
    let begun = Instant::now();
    // Everybody's weight changes with this one's.
    mount.write("cpu/q500/share", "50% 1000").unwrap();
    mount.write("cpu/q501/share", "0% 1").unwrap();
    let apportioned = begun.elapsed();
    eprintln!(
        "1,000 reservations: created in {created:?}, listed in {listed:?}, two re-apportioned in {apportioned:?}"
    );
    let begun = Instant::now();
    mount.unmount();
    eprintln!("unmounted in {:?}", begun.elapsed());
    assert!(created.as_secs() < 60 && listed.as_secs() < 10 && apportioned.as_secs() < 10);
}

#[test]
fn root_a_thread_switches_its_own_queue() {
    let Some(mount) = mount() else { return };
    for queue in ["q1", "q2"] {
        fs::create_dir_all(mount.path("cpu/r0").join(queue)).unwrap();
    }
    let child = mount.sleeper("cpu/r0/q1");
    let process = format!("proc/{}", child.id());
    let thread = format!("{process}/task/{}", child.id());
    assert!(mount.read(&thread).trim_end().ends_with("cpu/r0/q1"));
    match mount.write(&thread, &mount.path("cpu/r0/q2").display().to_string()) {
        Ok(()) => assert!(mount.read(&thread).trim_end().ends_with("cpu/r0/q2")),
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP), "{error}");
            assert!(mount.read("log").contains("threaded groups"), "{}", mount.read("log"));
        }
    }
    let gone = mount.write(&format!("{process}/task/1"), "cpu/r0/q2");
    assert_eq!(errno(gone), libc::ENOENT, "that is no thread of it");
    // Whoever writes is a thread itself.
    let script = format!(
        "echo {queue} > {mount}/proc/thread-self && cat {mount}/proc/$$/task/$$",
        queue = mount.path("cpu/r0/q2").display(),
        mount = mount.point().display(),
    );
    let done = output(&mut mount.exec("cpu/r0/q1", &["sh", "-c", &script]));
    if done.status.success() {
        assert!(String::from_utf8_lossy(&done.stdout).trim_end().ends_with("cpu/r0/q2"));
    }
    end(child);
    mount.unmount();
}
