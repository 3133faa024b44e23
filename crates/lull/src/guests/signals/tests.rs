use super::*;

#[test]
fn a_signal_ends_the_wait() {
    let signals = Signals::block([Signal::SIGUSR2]).unwrap();
    assert!(!signals.came_within(Duration::from_millis(1)));
    nix::sys::signal::raise(Signal::SIGUSR2).unwrap();
    assert!(signals.came_within(Duration::from_secs(60)));
    assert!(!signals.came_within(Duration::ZERO), "it came once");
}
