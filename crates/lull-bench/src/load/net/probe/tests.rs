use super::*;

/// Both ends on the loopback of this machine: entering a namespace takes root.
fn prober() -> Prober {
    let to: IpAddr = [127, 0, 0, 1].into();
    let far = UdpSocket::bind(SocketAddr::new(to, 0)).unwrap();
    far.set_read_timeout(Some(PATIENCE)).unwrap();
    let near = UdpSocket::bind(SocketAddr::new(to, 0)).unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    near.set_nonblocking(true).unwrap();
    Prober { near, far, every: Nanos::from_millis(5) }
}

fn window() -> [Nanos; 2] {
    let begun = clock::now();
    [begun, begun.plus(Nanos::from_millis(100))]
}

#[test]
fn every_probe_comes_back_or_is_told_as_lost() {
    let probed = prober().run(window());
    // At least 2.5 ms lie between two of them, so there are 41 at most.
    assert!((1..=41).contains(&probed.sent), "{probed:?}");
    assert!(probed.lost <= probed.sent && probed.latency.p50_ns > 0, "{probed:?}");
}

#[test]
fn what_gets_no_echo_counts_as_a_second() {
    let prober = prober();
    let probed = prober.ask(window());
    assert!(probed.sent > 0 && probed.lost == probed.sent, "{probed:?}");
    // Within the three digits of the histogram.
    assert!(probed.latency.p50_ns.abs_diff(GIVEN_UP.as_nanos()) < GIVEN_UP.as_nanos() / 500, "{probed:?}");
}

#[test]
fn a_probe_carries_its_time() {
    let now = Nanos(0x0123_4567_89ab_cdef);
    assert_eq!(stamp_of(&stamped(now)), now);
}
