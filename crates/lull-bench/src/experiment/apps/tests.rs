use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: AppsArgs,
}

fn args(words: &[&str]) -> AppsArgs {
    Cli::parse_from([&["bench"], words].concat()).args
}

fn program() -> Program {
    Program::new("lull".into())
}

#[test]
fn subsets_are_chosen_by_name_and_references_stay() {
    let args = args(&["--foreground", "redis", "--background", "tar,memory", "--contenders", "lull,nice"]);
    assert_eq!((args.foreground.as_slice(), args.background.len()), ([App::Redis].as_slice(), 2));
    let names: Vec<String> = args.contenders().iter().map(Contender::name).collect();
    assert_eq!(names, ["alone", "solo", "lull", "nice"]);
}

#[test]
fn the_policies_are_runs_of_lull_under_their_own_names() {
    let args = args(&["--smart-window", "1s", "--lull-args", "--max-slowdown 2%"]);
    for (contender, command) in [
        (Contender::Policy("smart"), "smart: lull run --policy smart:1s -- CMD"),
        (Contender::Policy("manners"), "manners: lull run --policy manners -- CMD"),
        (Contender::Lull(Vec::new()), "lull: lull run --max-slowdown 2% -- CMD"),
        (Contender::Nice, "nice: nice -n 19 CMD"),
    ] {
        assert_eq!(Equipped::of(&contender, &args).about(&program()), command);
    }
}

#[test]
fn the_help_says_how_long_it_takes() {
    let round_s = |args: &AppsArgs| args.contenders().iter().map(|one| args.run_s(one)).sum::<f64>();
    let hours =
        |args: &AppsArgs| args.cases().len() as f64 * round_s(args) * f64::from(args.common.rounds) / 3600.0;
    let all = args(&[]);
    assert_eq!((all.cases().len(), all.contenders().len(), all.common.rounds), (56, 15, 5));
    assert!(args::HELP.contains(&format!("about {:.0} hours;", hours(&all))), "{}", hours(&all));
    let line = args::HELP.lines().find(|line| line.contains("lull bench apps --")).unwrap();
    let words: Vec<&str> = line.split_whitespace().skip(3).collect();
    assert!(args::HELP.contains(&format!("about {:.0} hours:", hours(&args(&words)))));
}

#[test]
fn only_those_that_learn_settle_and_smart_says_if_it_was_too_short() {
    let smart = Contender::Policy("smart");
    let default = args(&[]);
    assert_eq!(default.warmup_s(&smart), default.warmup_s(&Contender::Nice));
    assert_eq!(default.unlearnt(&smart), None);
    let words = ["--settle", "30", "--warmup", "2", "--seconds", "5", "--contenders", "smart,lull,nice"];
    let settled = args(&words);
    for (contender, warmup_s) in [
        (smart.clone(), 30.0),
        (Contender::Policy("manners"), 30.0),
        (Contender::Headroom, 30.0),
        (Contender::Lull(Vec::new()), 30.0),
        (Contender::Nice, 2.0),
        (Contender::Alone, 2.0),
    ] {
        assert_eq!(settled.warmup_s(&contender), warmup_s, "{contender:?}");
    }
    assert_eq!((settled.run_s(&smart), settled.run_s(&Contender::Nice)), (36.0, 8.0));
    let short = args(&["--smart-window", "10s", "--settle", "30"]);
    assert!(short.unlearnt(&smart).is_some_and(|note| note.contains("after 30 s")));
    assert_eq!(short.unlearnt(&Contender::Lull(Vec::new())), None);
    assert_ne!(settled.terms(), args(&[&words[2..], &["--settle", "40"]].concat()).terms());
}

#[test]
fn trees_are_made_for_those_that_read_them() {
    assert_eq!(args(&["--background", "rsync,memory", "--instances", "2,5"]).trees(), 5);
    assert_eq!(args(&["--background", "flood,memory"]).trees(), 0);
}

#[test]
fn a_directory_keeps_its_terms() {
    let dir = tempfile::tempdir().unwrap();
    let terms = |words: &[&str]| args(words).terms();
    same_terms(dir.path(), &terms(&["--seconds", "3"])).unwrap();
    let mut writer = record::Writer::open(dir.path()).unwrap();
    writer.append(&record::Record::Host(Host { terms: terms(&[]), ..Host::default() })).unwrap();
    same_terms(dir.path(), &terms(&["--rounds", "9", "--foreground", "redis"])).unwrap();
    let words = ["--seconds", "3", "--tree-size", "1GiB", "--redis-rate", "9", "--lull-args", "--depth 1"];
    let error = same_terms(dir.path(), &terms(&words)).unwrap_err().to_string();
    let said = "(lull flags none, now --depth 1; redis rate 2000/s, now 9/s; seconds 20 s, now 3 s; tree per instance 512MiB, now 1GiB)";
    assert!(error.contains(said), "{error}");
}

#[test]
fn terms_are_those_that_change_what_is_measured() {
    let of = |words: &[&str]| args(words).terms();
    for words in [["--redis-rate", "9"], ["--redis-waves", "2s"], ["--seconds", "9"], ["--tree-size", "9MiB"]]
    {
        assert_ne!(of(&words), of(&[]), "{words:?}");
    }
    assert_eq!(of(&["--seed", "9", "--contenders", "lull"]), of(&[]));
}

#[test]
fn a_short_measurement_is_not_told_in_hours() {
    assert_eq!(rough(16.0), "16 seconds");
    assert_eq!(rough(448.0), "7 minutes");
    assert_eq!(rough(11_172.0), "3.1 hours");
}

#[test]
fn a_measurement_that_goes_on_says_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["--foreground", "redis", "--background", "tar,memory", "--instances", "2", "--rounds", "2"];
    let args = args(&[&words[..], &["--seconds", "20", "--warmup", "9", "--settle", "30"]].concat());
    let program = program();
    let mut bench = Bench {
        args: &args,
        program: &program,
        disk: None,
        ledger: Ledger::open(dir.path(), Host::default()).unwrap(),
        directory: dir.path().to_owned(),
        contenders: vec![Contender::Alone, Contender::Lull(Vec::new())],
    };
    let cases = args.cases();
    assert_eq!(cases, ["redis-tar-2", "redis-memory-2"]);
    assert_eq!(bench.state(&cases), "about 5 minutes in all");
    let plan = Plan { contenders: vec![Contender::Alone], seed: 1, rounds: 2 };
    bench.ledger.rounds("redis-tar-2", &plan, &mut |_, _| Ok(Run::default())).unwrap();
    assert_eq!(bench.state(&cases), "2 of 8 runs there already, about 4 minutes for the rest");
    assert!(!bench.is_done("redis-tar-2"));
    let plan = Plan { contenders: bench.contenders.clone(), ..plan };
    bench.ledger.rounds("redis-tar-2", &plan, &mut |_, _| Ok(Run::default())).unwrap();
    assert_eq!(bench.state(&cases[..1]), "all 4 runs are there already");
    assert!(bench.is_done("redis-tar-2") && !bench.is_done("redis-memory-2"));
}
