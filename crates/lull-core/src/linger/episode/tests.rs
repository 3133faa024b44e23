use super::*;

const SPAN: Nanos = Nanos::from_secs(5);

fn setting() -> OwnerSetting {
    OwnerSetting { busy: 0.1, away_after: Nanos::from_secs(60) }
}

fn sample(owner_cpus: f64) -> Sample {
    Sample { span: SPAN, owner_cpus, console_idle: None, share: 1.0 - owner_cpus }
}

/// One sample every span from `from_s` to `to_s`.
fn spend(episode: &mut Episode, from_s: u64, to_s: u64, owner_cpus: f64) {
    for now_s in (from_s + 5..=to_s).step_by(5) {
        episode.add(Nanos::from_secs(now_s), &sample(owner_cpus));
    }
}

#[test]
fn a_pause_is_no_departure() {
    let mut episode = Episode::new(setting(), Nanos::ZERO);
    spend(&mut episode, 0, 100, 0.02);
    assert!(!episode.in_use());
    spend(&mut episode, 100, 110, 0.3);
    assert!(episode.in_use());
    assert_eq!(episode.since(), Nanos::from_secs(100), "from the beginning of the span that showed him");
    spend(&mut episode, 110, 165, 0.0);
    assert!(episode.in_use());
    spend(&mut episode, 165, 170, 0.0);
    assert!(!episode.in_use());
    assert_eq!(episode.since(), Nanos::from_secs(170));
}

#[test]
fn a_touched_console_is_a_sign() {
    let mut episode = Episode::new(setting(), Nanos::ZERO);
    let touched = Sample { console_idle: Some(Nanos::from_secs(2)), ..sample(0.0) };
    episode.add(Nanos::from_secs(500), &touched);
    assert!(episode.in_use());
    let long_ago = Sample { console_idle: Some(Nanos::from_secs(90)), ..sample(0.0) };
    let mut episode = Episode::new(setting(), Nanos::ZERO);
    episode.add(Nanos::from_secs(500), &long_ago);
    assert!(!episode.in_use());
}

#[test]
fn the_share_is_that_of_the_episode() {
    let mut episode = Episode::new(setting(), Nanos::ZERO);
    assert!((episode.share() - 1.0).abs() < 1e-9);
    spend(&mut episode, 0, 1_000, 0.0);
    spend(&mut episode, 1_000, 1_010, 0.2);
    spend(&mut episode, 1_010, 1_020, 0.6);
    assert!((episode.share() - 0.6).abs() < 1e-9, "{}", episode.share());
}
