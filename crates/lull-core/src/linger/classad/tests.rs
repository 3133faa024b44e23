//! What can be told without HTCondor. That both sides of the module agree is tested with its own evaluator: `make test-condor`.

use super::*;

fn terms(policy: GuestPolicy) -> Terms {
    Terms {
        policy,
        patience: Nanos::from_secs(60),
        restart: Nanos::from_secs(10),
        bytes_per_s: 1 << 20,
        saves_every: Nanos::from_secs(300),
        stale_after: Nanos::from_secs(60),
    }
}

/// An owner for a minute, beside whom a guest of an hour gets half.
fn slot() -> Slot {
    Slot {
        now_s: 10_000.0,
        measured_s: Some(9_999.0),
        owner_active: true,
        owner_since_s: 9_940.0,
        share: 0.5,
        elsewhere: 1.0,
        job_start_s: Some(6_400.0),
        saves: true,
        ..Slot::default()
    }
}

#[test]
fn what_is_not_known_moves_nobody() {
    for policy in GuestPolicy::ALL {
        let terms = terms(policy);
        assert!(terms.act(&slot()).is_some());
        assert_eq!(terms.act(&Slot { measured_s: None, ..slot() }), None);
        assert_eq!(terms.act(&Slot { measured_s: Some(9_900.0), ..slot() }), None, "stale");
        assert_eq!(terms.act(&Slot { owner_active: false, ..slot() }), None);
        assert_eq!(terms.act(&Slot { job_start_s: None, ..slot() }), None);
    }
}

#[test]
fn a_guest_that_saves_itself_moves_sooner() {
    let terms = terms(GuestPolicy::LingerLonger);
    let leaves_after_s = |slot: Slot| {
        let leaves = |age_s: &u32| {
            Terms::wants(terms.act(&Slot { owner_since_s: slot.now_s - f64::from(*age_s), ..slot }))
        };
        (0..20_000).step_by(10).find(leaves)
    };
    // (10 s of pause + 300 s unsaved) / (1 - 0.5)
    assert_eq!(leaves_after_s(slot()), Some(620));
    assert_eq!(leaves_after_s(Slot { saves_every_s: Some(30.0), ..slot() }), Some(80));
    // What it carries: 10 MiB, 10 s
    let carries = Slot { disk_kib: Some(10_240.0), saves_every_s: Some(30.0), ..slot() };
    assert_eq!(leaves_after_s(carries), Some(100));
    // It has an hour to lose, and loses more every second.
    let begins_again = leaves_after_s(Slot { saves: false, ..slot() });
    assert!(begins_again.is_some_and(|after_s| after_s > 3_000), "{begins_again:?}");
    let hundred = Slot { saves_every_s: Some(30.0), owner_since_s: 9_900.0, ..slot() };
    assert!(Terms::wants(terms.act(&hundred)));
    let nearly_done = Slot { work_s: Some(3_565.0), ..hundred };
    assert!(!Terms::wants(terms.act(&nearly_done)), "15 s of work are done here sooner than elsewhere");
}

#[test]
fn every_reference_is_an_attribute() {
    let given = [
        "LullTime",
        "LullOwnerActive",
        "LullOwnerSince",
        "LullGuestShare",
        "LullPlaces",
        "LullMover",
        "LullPlaceShare",
        "LullElsewhereShare",
        "LullSavesEvery",
        "LullWork",
    ];
    for policy in GuestPolicy::ALL {
        let terms = terms(policy);
        let attributes = terms.attributes();
        let texts =
            attributes.iter().chain(&terms.expressions()).map(|(_, text)| text.clone()).collect::<Vec<_>>();
        for text in texts.into_iter().chain([terms.preference()]) {
            let words =
                text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.starts_with("Lull"));
            for word in words {
                let known = given.contains(&word) || attributes.iter().any(|(name, _)| *name == word);
                assert!(known, "{word} in {text}");
            }
        }
    }
}

#[test]
fn lingering_never_suspends_and_eviction_never_waits() {
    let of = |policy, name: &str| {
        let found = terms(policy).expressions().into_iter().find(|(key, _)| *key == name);
        found.map(|(_, text)| text).unwrap_or_default()
    };
    assert_eq!(of(GuestPolicy::LingerLonger, "SUSPEND"), "False");
    assert_eq!(of(GuestPolicy::LingerForever, "SUSPEND"), "False");
    assert_eq!(of(GuestPolicy::ImmediateEviction, "SUSPEND"), "False");
    assert!(of(GuestPolicy::PauseAndMigrate, "SUSPEND").contains("LullBeside"));
    let leaves = terms(GuestPolicy::ImmediateEviction).attributes();
    let leaves = leaves.iter().find(|(key, _)| *key == "LullLeaves");
    assert_eq!(leaves.map(|(_, text)| text.as_str()), Some("LullWants"));
}
