use clap::Parser;

use super::*;
use crate::process::shown;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: AppsArgs,
}

pub(super) fn args(words: &[&str]) -> AppsArgs {
    Cli::parse_from([&["bench"], words].concat()).args
}

pub(super) fn program() -> Program {
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
        let started = args.common.started(&contender, &[], args.smart_window);
        let line = shown(&started.wrap(vec!["CMD".into()], &program()));
        assert_eq!(format!("{}: {line}", contender.name()), command);
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
fn terms_are_those_that_change_what_is_measured() {
    let of = |words: &[&str]| args(words).terms();
    for words in [["--redis-rate", "9"], ["--redis-waves", "2s"], ["--seconds", "9"], ["--tree-size", "9MiB"]]
    {
        assert_ne!(of(&words), of(&[]), "{words:?}");
    }
    assert_eq!(of(&["--seed", "9", "--contenders", "lull"]), of(&[]));
}
