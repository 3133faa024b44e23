use clap::Parser;

use super::*;

#[derive(Parser)]
struct Asked {
    #[command(flatten)]
    args: NetArgs,
}

fn asked(words: &str) -> NetArgs {
    Asked::parse_from(std::iter::once("net").chain(words.split_whitespace())).args
}

fn names(args: &NetArgs) -> Vec<String> {
    args.contenders().iter().map(Contender::name).collect()
}

#[test]
fn a_figure_is_a_sweep_that_can_be_changed() {
    let plain = asked("--figure");
    assert_eq!(plain.cases(), [NetCase::UdpUdp, NetCase::TcpUdp, NetCase::TcpUdpFar]);
    assert_eq!(plain.intensity, [10, 25, 50, 75, 90]);
    assert_eq!((plain.common.rounds, plain.common.seconds, plain.warmup), (2, 2.0, 1.0));
    assert_eq!(
        names(&plain),
        [
            "alone",
            "solo",
            "none",
            "lull --interval 0ns",
            "lull --interval 250us",
            "lull --interval 1ms",
            "lull --interval 5ms",
            "lull --interval 20ms",
            "lull --interval 40ms",
            "lull"
        ]
    );
    let own = asked(
        "--figure 12,fig9 --intervals auto,2ms --intensity 40 --rounds 7 --contenders again,htb --lull-flags --interval=9ms",
    );
    assert_eq!(own.cases(), [NetCase::TcpUdpFar, NetCase::UdpUdp]);
    assert_eq!((own.intensity.clone(), own.common.rounds), (vec![40], 7));
    assert_eq!(
        names(&own),
        ["alone", "solo", "again", "htb", "lull --interval=9ms", "lull", "lull --interval 2ms"]
    );
}

#[test]
fn without_a_figure_nothing_changes() {
    let plain = asked("");
    assert_eq!((plain.cases().len(), plain.intensity.clone()), (9, vec![25]));
    assert_eq!((plain.common.rounds, plain.common.seconds, plain.warmup), (5, 5.0, 2.0));
    assert!(plain.intervals.is_empty());
    let names = names(&plain);
    assert!(
        ["rate", "bbr", "cubic", "lp", "vegas", "lull"]
            .iter()
            .all(|name| names.contains(&(*name).to_owned()))
    );
    assert!(Asked::try_parse_from(["net", "--figure", "9", "--cases", "ask"]).is_err());
    assert!(Asked::try_parse_from(["net", "--figure", "10"]).is_err());
}

#[test]
fn no_interval_is_not_taken_for_no_control() {
    let args = asked("--contenders none --intervals 0,none,inf");
    assert_eq!(names(&args), ["alone", "solo", "none", "lull --interval 0ns", "lull --interval infinite"]);
}
