use super::*;

#[test]
fn a_line_of_the_log_gives_the_scheduled_time() {
    // The manual's example, with a schedule lag at its end.
    let line = "0 199 2241 0 1175850568 995598 1020";
    let scheduled_us = 1_175_850_568_995_598 - 2_241;
    assert_eq!(Transaction::parse(line), Some(Transaction { scheduled_us, took_us: 2_241 }));
    for bad in ["", "0 199 skipped 0 1175850569 608", "pgbench: error"] {
        assert_eq!(Transaction::parse(bad), None, "{bad}");
    }
}

#[test]
fn all_logs_of_a_directory_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for (name, lines) in [("log.1", "0 1 10 0 1 0\n0 2 20 0 1 5\n"), ("log.1.1", "1 1 30 0 2 0\n")] {
        std::fs::write(dir.path().join(name), lines).unwrap();
    }
    let mut took: Vec<u64> = transactions(dir.path()).unwrap().iter().map(|t| t.took_us).collect();
    took.sort_unstable();
    assert_eq!(took, [10, 20, 30]);
}

#[test]
fn what_is_late_at_the_end_is_counted_and_is_no_throughput() {
    let transaction = |scheduled_us, took_us| Transaction { scheduled_us, took_us };
    let all = [
        transaction(900, 500),
        transaction(1_000, 10),
        transaction(1_990, 10),
        transaction(1_995, 1_500_000),
        transaction(2_000, 10),
    ];
    let window = [Nanos::from_micros(1_000), Nanos::from_micros(2_000)];
    let (latencies, in_time) = count(&all, Nanos::from_micros, window);
    assert_eq!((latencies.count(), in_time), (3, 2));
    assert!(latencies.summary().max_ns >= 1_490_000_000);
}

fn args(pgbench: impl Into<PathBuf>, warmup: Nanos) -> PgbenchArgs {
    PgbenchArgs {
        shift: ShiftArgs { warmup, seconds: Some(0.1), json: true },
        socket: "/s".into(),
        port: 1,
        database: "d".into(),
        user: "u".into(),
        pgbench: pgbench.into(),
        rate: 1,
        clients: 1,
        seed: 1,
    }
}

#[test]
fn pgbench_runs_longer_than_the_window() {
    let args = args("pgbench", Nanos::ZERO);
    let argv = args.argv(3.5, 7, Some(Path::new("/log")));
    let time = argv.iter().skip_while(|word| *word != "--time").nth(1);
    assert_eq!(time, Some(&OsString::from("6")));
}

#[test]
fn what_pgbench_never_began_is_counted_as_given_up() {
    let transaction = |scheduled_ms: u64, took_ms: u64| Transaction {
        scheduled_us: scheduled_ms * 1_000,
        took_us: took_ms * 1_000,
    };
    let window = [Nanos::from_secs(1), Nanos::from_secs(3)];
    let lost = |all: &[Transaction]| never_begun(all, Nanos::from_micros, window, 10);
    // Due at 2.5 s and still at work two seconds after the window: 2.6, 2.7, 2.8 and 2.9 s never began.
    let behind = lost(&[transaction(1_000, 3_000), transaction(2_500, 2_600)]);
    assert_eq!(behind, [2_600, 2_700, 2_800, 2_900].map(Nanos::from_millis));
    assert_eq!(
        lost(&[transaction(2_500, 2_600), transaction(3_001, 2_100)]),
        [],
        "it began one after the window"
    );
    assert_eq!(lost(&[transaction(2_500, 10)]), [], "it was idle, and no more were due");
    assert_eq!(lost(&[transaction(200, 6_000)]).len(), 19, "what was due before the window is not counted");
    assert_eq!(lost(&[]).len(), 19);
}

#[test]
fn the_counted_transactions_are_a_process_of_their_own_after_a_warm_up() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (script, calls) = (dir.path().join("pgbench"), dir.path().join("calls"));
    let text = format!(
        "#!/bin/sh\necho \"$@\" >> {}\ncase \"$*\" in *--log*) exit 0;; esac\nexec sleep 60\n",
        calls.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let seeds = |warmup: Nanos| -> Vec<(bool, bool)> {
        let _ = std::fs::remove_file(&calls);
        run(&args(&script, warmup)).unwrap();
        let lines = std::fs::read_to_string(&calls).unwrap();
        lines.lines().map(|line| (line.contains("--random-seed 1 "), line.contains("--log "))).collect()
    };
    assert_eq!(seeds(LEAD), [(true, true)]);
    // The one of the warm-up would sleep for a minute: it was stopped.
    assert_eq!(seeds(LEAD.plus(Nanos::from_millis(500))), [(false, false), (true, true)]);
}
