use super::*;

fn lingers() -> Slot {
    Slot {
        name: "slot1@n1".to_owned(),
        state: "Claimed".to_owned(),
        activity: "Busy".to_owned(),
        job: Some("7.0".to_owned()),
        user: Some("guest@lull.test".to_owned()),
        policy: Some("linger-longer".to_owned()),
        known: true,
        owner_active: Some(true),
        owner_age_s: Some(75.0),
        owner_cpus: Some(0.25),
        share: Some(0.75),
        host_loss: Some(0.012),
        decision: Some("linger".to_owned()),
        move_age_s: Some(1_240.0),
        move_cost_s: Some(310.0),
        gain: Some(0.25),
        saves: true,
        done_here_first: false,
    }
}

#[test]
fn a_row_says_who_gets_what_and_why() {
    let alone = Slot {
        owner_active: Some(false),
        host_loss: Some(0.5),
        decision: Some("alone".to_owned()),
        ..lingers()
    };
    let text = table(&[lingers(), alone, Slot { name: "slot1@n3".to_owned(), ..Slot::default() }]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("at work 75s, 0.25 CPUs  7.0 guest  0.75   1.2%"), "{text}");
    let why = "linger: until the owner is there for 20min: moving costs 5min of work and gains 0.25 of a CPU";
    assert!(lines[1].ends_with(why), "{text}");
    assert!(lines[2].contains("away 75s") && lines[2].ends_with("-      alone"), "{text}");
    assert!(lines[3].contains("unknown") && lines[3].contains("no lull"), "{text}");
}

#[test]
fn reasons_differ() {
    let why = |change: fn(&mut Slot)| {
        let mut slot = lingers();
        change(&mut slot);
        slot.why()
    };
    assert!(why(|slot| slot.done_here_first = true).contains("done sooner"));
    assert!(why(|slot| slot.move_age_s = None).contains("nothing is gained"));
    assert!(why(|slot| slot.saves = false).contains("all that it has done included"));
    assert!(why(|slot| slot.decision = None).contains("nobody is moved"));
    assert!(why(|slot| slot.decision = Some("waits for a place".to_owned())).contains("no place is free"));
    assert_eq!(why(|slot| slot.decision = Some("suspended".to_owned())), "suspended");
    assert_eq!(short(59.6), "60s");
    assert_eq!(short(7_300.0), "121min");
}
