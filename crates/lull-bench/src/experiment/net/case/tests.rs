use clap::Parser;

use super::*;

#[derive(Parser)]
struct Asked {
    #[command(flatten)]
    args: NetArgs,
}

fn case(group: NetCase) -> Case {
    Case::of(group, 25, &Asked::parse_from(["net"]).args)
}

#[test]
fn there_is_a_case_for_each_intensity_of_a_transfer() {
    let args = Asked::parse_from(["net", "--intensity", "10,90%"]).args;
    let names = |group| Case::all_of(group, &args).into_iter().map(|case| case.name).collect::<Vec<_>>();
    assert_eq!(names(NetCase::TcpUdpFar), ["tcp-udp-far-10", "tcp-udp-far-90"]);
    assert_eq!(names(NetCase::TcpDown), ["tcp-down-10", "tcp-down-90"]);
    for (group, name) in
        [(NetCase::Ask, "ask"), (NetCase::AskDown, "ask-down"), (NetCase::NetRedis, "net-redis")]
    {
        assert_eq!(names(group), [name]);
    }
}

fn flood(group: NetCase, contender: &Contender) -> String {
    let to = SocketAddr::from(([10, 0, 0, 2], 5));
    let case = case(group);
    let words = match case.background {
        Transfer::Upload(protocol) => case.flood(protocol, to, contender),
        _ => case.fetch(to, contender),
    };
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_contender_changes_the_background_in_its_own_way() {
    let plain = "net-flood --json --protocol tcp --to 10.0.0.2:5 --size 131072";
    assert_eq!(flood(NetCase::TcpTcp, &Contender::Unmanaged), plain);
    assert_eq!(flood(NetCase::TcpTcp, &Contender::Lull(Vec::new())), plain);
    assert_eq!(flood(NetCase::TcpTcp, &Contender::Marked), format!("{plain} --mark"));
    assert_eq!(flood(NetCase::TcpTcp, &Contender::FixedRate), format!("{plain} --rate-mbit 25"));
    assert_eq!(
        flood(NetCase::TcpTcp, &Contender::Congestion("cubic")),
        format!("{plain} --congestion cubic")
    );
}

#[test]
fn a_download_is_limited_where_it_is_read() {
    let plain = "net-fetch --from 10.0.0.2:5";
    assert_eq!(flood(NetCase::AskDown, &Contender::Unmanaged), plain);
    assert_eq!(flood(NetCase::TcpDown, &Contender::FixedRate), format!("{plain} --rate-mbit 25"));
    assert_eq!(flood(NetCase::TcpDown, &Contender::Marked), format!("{plain} --mark"));
    assert!(case(NetCase::TcpDown).obstacle(&Contender::Congestion("bbr")).is_some());
}

#[test]
fn rsync_takes_a_rate_and_marks_nothing_itself() {
    let rsync = case(NetCase::NetNginx);
    assert_eq!(rsync.limit_of_rsync(&Contender::FixedRate), "--bwlimit=3050");
    assert_eq!(rsync.limit_of_rsync(&Contender::Unmanaged), "");
    assert!(rsync.obstacle(&Contender::Marked).is_some());
    for contender in [Contender::Priority, Contender::Congestion("bbr"), Contender::Lull(Vec::new())] {
        assert!(rsync.obstacle(&contender).is_none(), "{contender:?}");
    }
}

#[test]
fn congestion_controls_are_no_contenders_of_datagrams() {
    let bbr = Contender::Congestion("bbr");
    assert!(case(NetCase::UdpUdp).obstacle(&bbr).is_some());
    assert!(case(NetCase::Ask).obstacle(&bbr).is_none());
}

#[test]
fn the_round_trip_is_probed_beside_a_connection_if_wanted() {
    let words = |group, asked: &str| {
        let args = Asked::parse_from(["net", "--probe", asked]).args;
        match Case::of(group, 25, &args).foreground {
            ForegroundKind::Load(words) => words,
            ForegroundKind::Server { .. } => String::new(),
        }
    };
    for group in [NetCase::TcpTcp, NetCase::TcpDown] {
        assert!(words(group, "5ms").ends_with("--probe 5000000ns"), "{group:?}");
        assert!(!words(group, "0").contains("--probe"), "{group:?}");
    }
    for group in [NetCase::UdpUdp, NetCase::TcpUdpFar, NetCase::Ask, NetCase::NetRedis] {
        assert!(!words(group, "5ms").contains("--probe"), "{group:?}");
    }
}
