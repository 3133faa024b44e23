use clap::Parser;

use super::*;

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
        ["alone", "solo", "again", "none", "nice", "sched-idle", "cpu.idle", "headroom", "cpulimit", "lull"]
    );
    let some = args(&["--contenders", "sched-idle", "--lull-flags", "--depth 1"]);
    assert_eq!(names(&some), ["alone", "solo", "sched-idle", "lull --depth 1"]);
    assert!(Cli::try_parse_from(["x", "--contenders", "bfq"]).is_err());
    assert!(Cli::try_parse_from(["x", "--cases", "serve-20"]).is_err());
}

#[test]
fn lull_gets_its_flags_and_a_file_for_its_summary() {
    let program = Program::new("lull".into());
    let line = |contender: &Contender, args: &CpuArgs, slack: &[String]| {
        let started = with_args(contender, args, slack).started(Path::new("/s"));
        shown(&started.wrap(vec!["CMD".into()], &program))
    };
    let lull = Contender::Lull(Vec::new());
    assert_eq!(line(&lull, &args(&[]), &[]), "lull run -q --json --summary /s -- CMD");
    let slack = ["--max-slowdown", "20%"].map(str::to_owned);
    let further = Contender::Lull(vec!["--gate".to_owned(), "none".to_owned()]);
    assert_eq!(
        line(&further, &args(&["--lull-args", "--interval 100us"]), &slack),
        "lull run -q --json --summary /s --interval 100us --max-slowdown 20% --gate none -- CMD"
    );
    assert_eq!(line(&Contender::Nice, &args(&["--lull-args", "-x"]), &slack), "nice -n 19 CMD");
}

#[test]
fn a_summary_without_an_interval_says_nothing_and_a_broken_one_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("summary");
    let mut notes = Vec::new();
    for (text, wanted) in
        [("{}", None), (r#"{"slowdown":[{"resource":"cpu","estimate":0.5,"low":0.25,"high":1}]}"#, Some(1.5))]
    {
        std::fs::write(&file, text).unwrap();
        assert_eq!(reported(&file, &mut notes).map(|reported| reported.estimate), wanted);
    }
    assert_eq!(notes, Vec::<String>::new());
    std::fs::write(&file, "").unwrap();
    assert_eq!(reported(&file, &mut notes), None);
    assert!(notes[0].contains("no summary that can be read"), "{notes:?}");
}
