use super::*;

fn traffic(protocol: Protocol, percent: u32, background: bool, micros: u64) -> Traffic {
    let foreground = (percent > 0).then(|| Share::percent(percent));
    Traffic { protocol, foreground, background, interval: Interval::Finite(Nanos::from_micros(micros)) }
}

fn seconds(count: u64) -> Nanos {
    Nanos::from_secs(count)
}

#[test]
fn one_sender_alone_sends_a_packet_per_service_time() {
    let out = run(Network::LAN, &traffic(Protocol::Udp, 100, false, 0), 1, seconds(2));
    assert!((19_900.0..=20_100.0).contains(&out.foreground_per_s), "{out:?}");
    let half = run(Network::LAN, &traffic(Protocol::Udp, 50, false, 0), 1, seconds(4));
    assert!((8_500.0..=10_500.0).contains(&half.foreground_per_s), "{half:?}");
}

#[test]
fn without_an_interval_two_senders_share_and_with_one_the_background_sleeps() {
    let plain = run(Network::LAN, &traffic(Protocol::Udp, 100, true, 0), 1, seconds(2));
    assert!((plain.foreground_per_s / plain.background_per_s - 1.0).abs() < 0.1, "{plain:?}");
    let kept = run(Network::LAN, &traffic(Protocol::Udp, 100, true, 500), 1, seconds(2));
    assert!(kept.foreground_per_s > 19_000.0 && kept.background_per_s < 200.0, "{kept:?}");
}

#[test]
fn tcp_fills_the_link_alone() {
    let lan = run(Network::LAN, &traffic(Protocol::Tcp, 100, false, 0), 1, seconds(4));
    assert!(lan.foreground_per_s > 10_000.0, "{lan:?}");
    let wan = run(Network::WAN, &traffic(Protocol::Tcp, 100, false, 0), 1, seconds(10));
    assert!(wan.foreground_per_s > 5_000.0, "{wan:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let of = |seed| run(Network::WAN, &traffic(Protocol::Tcp, 40, true, 5_000), seed, seconds(3));
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
}
