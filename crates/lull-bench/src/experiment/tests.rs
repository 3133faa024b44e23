use std::collections::HashSet;

use lull_core::Nanos;

use super::disk::DiskArgs;
use super::ledger::shuffled;
use super::*;
use crate::contender::Contender;
use crate::contender::known::DISK;
use crate::contender::scheduler::SYS_BLOCK;

#[test]
fn every_round_has_each_contender_once_in_an_order_of_its_own() {
    let names = ["alone", "solo", "none", "nice+ionice", "bfq", "idle", "lull"];
    let contenders: Vec<Contender> = names.iter().map(|name| Contender::among(DISK)(name).unwrap()).collect();
    let (mut orders, mut alike) = (HashSet::new(), 0);
    for round in 1..=20 {
        let order_of = |case| -> Vec<String> {
            shuffled(&contenders, case, 1, round).iter().map(Contender::name).collect()
        };
        let order = order_of("redis-tar-2");
        assert_eq!(order, order_of("redis-tar-2"));
        assert_eq!(order.iter().map(String::as_str).collect::<HashSet<_>>(), HashSet::from(names));
        alike += usize::from(order == order_of("redis-tar-8"));
        orders.insert(order);
    }
    assert!(orders.len() > 15, "{} orders in 20 rounds", orders.len());
    assert!(alike < 5, "{alike} rounds have the same order in another case");
}

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    disk: DiskArgs,
}

#[test]
fn references_are_always_there_and_flags_make_contenders() {
    use clap::Parser;
    let cli = Cli::parse_from([
        "x",
        "--contenders",
        "lull,alone",
        "--lull-flags",
        "--depth 1",
        "--lull-flags",
        "--depth 1",
    ]);
    let names: Vec<String> = cli.disk.contenders().iter().map(Contender::name).collect();
    assert_eq!(names, ["alone", "solo", "lull", "lull --depth 1"]);
    assert_eq!(cli.disk.intensities, [10, 25, 50, 75, 100]);
    let cli = Cli::parse_from(["x", "--contenders", "none", "--intervals", "none,5ms", "--depths", "1,4"]);
    let names: Vec<String> = cli.disk.contenders().iter().skip(3).map(Contender::name).collect();
    assert_eq!(names[0], "lull --interval none --depth 1");
    assert_eq!((names.len(), names[3].as_str()), (4, "lull --interval 5ms --depth 4"));
    assert!(Cli::try_parse_from(["x", "--contenders", "magic"]).is_err());
    assert!(Cli::try_parse_from(["x", "--rounds", "0"]).is_err());
}

#[test]
fn flags_for_every_lull_come_before_its_own_and_reach_nobody_else() {
    use clap::Parser;
    let cli = Cli::parse_from(["x", "--lull-args", "--gate none"]);
    let started = |contender: &Contender| cli.disk.common.started(contender, &["-q".to_owned()], Nanos::ZERO);
    let own = Contender::Lull(vec!["--depth".to_owned(), "1".to_owned()]);
    assert_eq!(started(&own).name(), "lull -q --gate none --depth 1");
    assert_eq!(started(&Contender::Bfq), Contender::Bfq);
}

#[test]
fn the_disk_behind_a_directory_is_a_whole_disk() {
    match host::disk_of(Path::new("/")) {
        Some(disk) => assert!(Path::new(SYS_BLOCK).join(&disk).is_dir(), "{disk}"),
        None => eprintln!("SKIPPED: the root directory is on no single disk"),
    }
    assert_eq!(host::disk_of(Path::new("/proc")), None);
}

#[test]
fn a_wrong_path_is_no_directory_for_data() {
    let dir = tempfile::tempdir().unwrap();
    let last = dir.path().join("new");
    assert_eq!(data_directory(&last).unwrap(), last.join(DATA));
    assert_eq!(data_directory(&last).unwrap(), last.join(DATA), "as it is there");
    let typo = dir.path().join("mmt/disk");
    let error = data_directory(&typo).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "--dir {}: the directory above it does not exist either; name one on the disk to use",
            typo.display()
        )
    );
    assert!(!dir.path().join("mmt").exists());
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(data_directory(&file).unwrap_err().to_string().contains("no directory"));
}
