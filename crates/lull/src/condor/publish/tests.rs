use super::*;

fn args(policy: GuestPolicy) -> PublishArgs {
    PublishArgs {
        policy,
        busy: Share::percent(5),
        away_after: Nanos::from_secs(900),
        period: Nanos::from_secs(5),
        restart: Nanos::from_secs(20),
        once: false,
    }
}

fn seen(age_s: f64) -> Seen {
    Seen {
        time_s: 1_000.0,
        cpus: 2.0,
        owner_cpus: 0.5,
        in_use: true,
        since_s: 1_000.0 - age_s,
        share: 0.75,
        loss: 0.01,
        guest_cpus: 1.0,
        guests: 1,
    }
}

#[test]
fn the_collector_is_asked_only_where_a_guest_could_want_to_move() {
    let longer = args(GuestPolicy::LingerLonger);
    assert!(asks(&longer, &seen(20.0)));
    assert!(!asks(&longer, &seen(19.0)));
    assert!(asks(&args(GuestPolicy::PauseAndMigrate), &seen(0.0)));
    for policy in [GuestPolicy::LingerForever, GuestPolicy::SuspendInPlace, GuestPolicy::ImmediateEviction] {
        assert!(!asks(&args(policy), &seen(100.0)));
    }
    assert!(!asks(&longer, &Seen { guests: 0, ..seen(100.0) }));
    assert!(!asks(&longer, &Seen { in_use: false, ..seen(100.0) }));
}

#[test]
fn only_news_are_sent_at_once() {
    let told = Told {
        in_use: true,
        places: 0,
        at_s: 990.0,
        asked_s: 0.0,
        guests: 1,
        departed_s: 0.0,
        unanswered: false,
    };
    let nowhere = &Elsewhere::unknown();
    assert!(!is_news(&told, &seen(50.0), nowhere));
    assert!(is_news(&told, &seen(50.0), &Elsewhere { places: 1, ..Elsewhere::unknown() }));
    assert!(is_news(&told, &Seen { in_use: false, ..seen(0.0) }, nowhere));
    assert!(is_news(&Told { at_s: 930.0, ..told }, &seen(50.0), nowhere), "beside an owner once a minute");
    assert!(!is_news(&Told { at_s: 930.0, ..told }, &Seen { guests: 0, ..seen(50.0) }, nowhere));
}

#[test]
fn an_ad_is_lines_and_a_dash() {
    let text = ad(
        &seen(50.0),
        &Elsewhere { places: 2, share: 0.9, mover: "slot1@n".to_owned() },
        Some(&Reach::Everybody),
        true,
    );
    assert!(text.ends_with("\n- update:true\n"));
    for line in [
        "LullOwnerActive = true",
        "LullOwnerSince = 950.000",
        "LullIdleCpus = 1.5000",
        "LullPlaces = 2",
        "LullMover = \"slot1@n\"",
        "LullBelow = \"everybody\"",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in {text}");
    }
    assert!(ad(&seen(50.0), &Elsewhere::unknown(), None, false).ends_with("\n-\n"));
}

#[test]
fn nobody_is_sent_after_a_guest_that_may_be_on_its_way() {
    let args = args(GuestPolicy::LingerLonger);
    let told = Told {
        in_use: true,
        places: 1,
        at_s: 0.0,
        asked_s: 0.0,
        guests: 1,
        departed_s: 500.0,
        unanswered: false,
    };
    assert!(is_settling(&args, &told, 559.0));
    assert!(!is_settling(&args, &told, 561.0));
}
