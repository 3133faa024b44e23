use clap::Parser;
use lull_linux::sense::machine::MachineTimes;

use super::*;
use crate::contender::known::CPU;
use crate::process::shown;
use crate::record::Background;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    cpu: CpuArgs,
}

fn args(words: &[&str]) -> CpuArgs {
    Cli::try_parse_from([&["x"], words].concat()).unwrap().cpu
}

#[test]
fn references_are_always_there_and_only_contenders_of_the_cpu() {
    let names = |args: &CpuArgs| args.contenders().iter().map(Contender::name).collect::<Vec<_>>();
    assert_eq!(
        names(&args(&[])),
        ["alone", "solo", "none", "nice", "sched-idle", "cpu.idle", "headroom", "cpulimit", "smart", "lull"]
    );
    let some = args(&["--contenders", "sched-idle", "--lull-flags", "--depth 1"]);
    assert_eq!(names(&some), ["alone", "solo", "sched-idle", "lull --depth 1"]);
    assert!(Cli::try_parse_from(["x", "--contenders", "bfq"]).is_err());
    assert!(Cli::try_parse_from(["x", "--cases", "serve-20"]).is_err());
}

#[test]
fn contenders_that_learn_get_time_to_settle() {
    let given = args(&["--warmup", "2", "--settle", "20"]);
    let learners = ["headroom", "smart", "lull"].map(|name| Contender::among(CPU)(name).unwrap());
    for contender in given.contenders() {
        let expected = if learners.contains(&contender) { 20.0 } else { 2.0 };
        assert!((given.warmup_s(&contender) - expected).abs() < 1e-9, "{}", contender.name());
    }
}

fn line(contender: &Contender, words: &[&str], first: &str) -> String {
    let (args, program) = (args(words), Program::new("lull".into()));
    let first: Vec<String> = first.split(' ').map(str::to_owned).collect();
    let started = args.common.started(contender, &first, args.smart_window());
    shown(&started.wrap(vec!["CMD".into()], &program))
}

#[test]
fn lull_gets_its_flags_and_a_file_for_its_summary() {
    assert_eq!(line(&Contender::Lull(Vec::new()), &[], "--summary /s"), "lull run --summary /s -- CMD");
    let further = Contender::Lull(vec!["--gate".to_owned(), "none".to_owned()]);
    assert_eq!(
        line(&further, &["--lull-args", "--interval 100us"], "--max-slowdown 20%"),
        "lull run --max-slowdown 20% --interval 100us --gate none -- CMD"
    );
    assert_eq!(line(&Contender::Nice, &["--lull-args", "-x"], "-q"), "nice -n 19 CMD");
}

#[test]
fn smart_has_learnt_when_the_counting_begins() {
    let line = |contender: &'static str, words: &[&str]| line(&Contender::Policy(contender), words, "-q");
    let lull_args = ["--lull-args", "--interval 1ms"];
    assert_eq!(line("smart", &lull_args), "lull run -q --policy smart:500ms -- CMD");
    assert_eq!(line("smart", &["--settle", "0"]), "lull run -q --policy smart:200ms -- CMD");
    assert_eq!(line("smart", &["--smart-window", "1s"]), "lull run -q --policy smart:1s -- CMD");
    assert_eq!(line("manners", &lull_args), "lull run -q --policy manners -- CMD");
    assert_eq!(args(&[]).unlearnt(), None);
    assert_eq!(args(&["--settle", "3"]).unlearnt(), None);
    let late = args(&["--settle", "2"]).unlearnt().unwrap();
    assert_eq!(late, "smart learns for 2.40s, and the counting began after 2 s");
}

#[test]
fn what_neither_side_used_was_somebody_elses() {
    let times =
        MachineTimes { tasks: Nanos::from_secs(15), stolen: Nanos::from_secs(1), ..MachineTimes::default() };
    let spent = Spent { times, elapsed: Nanos::from_secs(10) };
    let outcome = |cpu_ns, control_cpu_s| Run {
        foreground: Some(LoadReport { cpu_ns, ..LoadReport::default() }),
        background: Some(Background { cpu_s: Some(8.0), control_cpu_s, ..Background::default() }),
        ..Run::default()
    };
    let others = |outcome: &Run| disturbance(spent, outcome).unwrap();
    let known = others(&outcome(Some(5_000_000_000), Some(0.5)));
    assert_eq!(known, Disturbance { others_cpus: Some(0.2), stolen_cpus: 0.1 });
    // More than the machine had, by the coarseness of its clock.
    assert_eq!(others(&outcome(Some(8_000_000_000), Some(0.5))).others_cpus, Some(0.0));
    for unknown in [outcome(None, Some(0.5)), outcome(Some(1), None)] {
        assert_eq!(others(&unknown).others_cpus, None);
    }
    let alone = Run { background: None, ..outcome(Some(5_000_000_000), None) };
    assert_eq!(others(&alone).others_cpus, Some(1.0));
}
