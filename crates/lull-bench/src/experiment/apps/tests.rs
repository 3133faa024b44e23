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
    let hours = |args: &AppsArgs| {
        args.cases() as f64 * args.round_s(&args.contenders()) * f64::from(args.common.rounds) / 3600.0
    };
    let all = args(&[]);
    assert_eq!((all.cases(), all.contenders().len(), all.common.rounds), (56, 15, 5));
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
    // Two of 36 s; alone, solo and nice of 8 s.
    assert_eq!(settled.round_s(&settled.contenders()), 96.0);
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
