use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use lull_core::linger::GuestPolicy;

use super::*;

fn config(program: &Path) -> Config<'_> {
    Config {
        program,
        wrapper: Path::new("/etc/condor/lull-guest"),
        terms: Terms {
            policy: GuestPolicy::LingerLonger,
            patience: Nanos::from_secs(60),
            restart: Nanos::from_secs(20),
            bytes_per_s: 10 << 20,
            saves_every: Nanos::from_secs(300),
            stale_after: Nanos::from_secs(60),
        },
        owner: OwnerSetting::default(),
        period: Nanos::from_secs(5),
        below: true,
        wrapped: None,
    }
}

#[test]
fn what_the_administrator_has_said_stays() {
    let text = config(Path::new("/usr/bin/lull")).file();
    assert!(is_ours(&text));
    for kept in [
        "START = ($(START)) && (",
        "STARTD_CRON_JOBLIST = $(STARTD_CRON_JOBLIST) ",
        "STARTD_ATTRS = $(STARTD_ATTRS) ",
        "DAEMON_LIST = $(DAEMON_LIST) LULL_BELOW",
    ] {
        assert!(text.contains(kept), "{kept}");
    }
    assert!(text.contains("--busy 5% --away-after 900s --period 5s --restart 20s"), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(lines.iter().all(|line| line.contains(" = ")), "{text}");
}

#[test]
fn a_node_that_keeps_nobody_below_has_no_daemon_for_it() {
    let text = Config { below: false, ..config(Path::new("/usr/bin/lull")) }.file();
    assert!(!text.contains("DAEMON_LIST") && !text.contains("LULL_BELOW"), "{text}");
}

/// Runs the wrapper with a lull that is this script.
fn wrapped(lull: Option<&str>, before: Option<&str>) -> String {
    let dir = tempfile::tempdir().unwrap();
    let executable = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let program = dir.path().join("it's lull");
    if let Some(text) = lull {
        executable("it's lull", text);
    }
    let wrapped = before.map(|text| executable("before", text).display().to_string());
    let text = Config { wrapped, ..config(&program) }.wrapper();
    assert!(is_ours(&text));
    let wrapper = executable("wrapper", &text);
    let script = "echo guest \"$1\"; cut -d ' ' -f 41 /proc/self/stat";
    let output = Command::new(wrapper).args(["sh", "-c", script, "sh", "a b"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_guest_runs_under_lull_if_there_is_one_that_can() {
    let said = wrapped(Some("#!/bin/sh\ncase \"$*\" in *--help) ;; *) echo \"$@\" ;; esac"), None);
    assert_eq!(
        said.lines().next(),
        Some("condor guest --quiet -- sh -c echo guest \"$1\"; cut -d ' ' -f 41 /proc/self/stat sh a b")
    );
    for lull in [None, Some("#!/bin/sh\nexit 2")] {
        // 5: SCHED_IDLE
        assert_eq!(wrapped(lull, None), "guest a b\n5\n");
    }
    let said = wrapped(None, Some("#!/bin/sh\necho before; exec \"$@\""));
    assert!(said.starts_with("before\nguest a b\n"), "{said}");
}
