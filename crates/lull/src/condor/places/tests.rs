use super::*;

const SMALL: Size = Size { cpus: 1.0, memory_mib: 512.0 };

fn free(machine: &str, share: f64) -> Other {
    Other {
        machine: machine.to_owned(),
        wants: false,
        owner_since_s: 0.0,
        share,
        size: SMALL,
        is_partitionable: false,
    }
}

fn mover(machine: &str, owner_since_s: f64) -> Other {
    Other { wants: true, owner_since_s, ..free(machine, 0.1) }
}

fn own(name: &str, cost_s: f64) -> Own {
    Own { name: name.to_owned(), wants: true, cost_s, size: SMALL }
}

#[test]
fn as_many_move_as_there_are_places() {
    let others = [
        free("f1", 0.9),
        free("f2", 1.0),
        mover("a", 100.0),
        mover("b", 200.0),
        mover("c", 200.0),
        mover("d", 300.0),
    ];
    let of = |machine, since| {
        let Elsewhere { places, share, .. } = claim(machine, since, &[], &others);
        (places, share)
    };
    assert_eq!(of("a", 100.0), (2, 1.0));
    assert_eq!(of("b", 200.0), (1, 0.9));
    assert_eq!(of("c", 200.0).0, 0);
    assert_eq!(of("d", 300.0).0, 0);
    // One of which the collector does not know yet.
    assert_eq!(of("new", 50.0).0, 2);
}

#[test]
fn the_own_node_is_nowhere_else() {
    assert_eq!(claim("a", 1.0, &[], &[free("a", 1.0)]), Elsewhere::unknown());
    assert_eq!(claim("a", 1.0, &[], &[]), Elsewhere::unknown());
}

#[test]
fn of_several_guests_the_one_that_loses_least_goes() {
    let content = Own { wants: false, ..own("slot1@a", 1.0) };
    let slots = [content, own("slot3@a", 20.0), own("slot2@a", 20.0), own("slot4@a", 30.0)];
    let found = claim("a", 1.0, &slots, &[free("b", 1.0)]);
    assert_eq!((found.mover.as_str(), found.places), ("slot2@a", 1));
    assert_eq!(claim("a", 1.0, &slots[..1], &[free("b", 1.0)]).mover, "");
}

#[test]
fn a_node_with_many_guests_that_want_to_move_takes_one_place() {
    let others = [free("f", 1.0), free("g", 1.0), mover("a", 1.0), mover("a", 1.0), mover("a", 1.0)];
    assert_eq!(claim("b", 2.0, &[own("slot1@b", 1.0)], &others).places, 1);
}

#[test]
fn a_place_has_to_be_large_enough() {
    let large = Own { size: Size { cpus: 2.0, memory_mib: 1_024.0 }, ..own("slot1_1@a", 5.0) };
    let parts = |cpus, memory_mib| Other {
        size: Size { cpus, memory_mib },
        is_partitionable: true,
        ..free("p", 1.0)
    };
    let places = |guest: &Own, other: Other| claim("a", 1.0, std::slice::from_ref(guest), &[other]).places;
    assert_eq!(places(&large, free("f", 1.0)), 0, "it has one CPU");
    assert_eq!(places(&large, parts(4.0, 8_192.0)), 2);
    assert_eq!(places(&large, parts(4.0, 1_024.0)), 1, "by memory");
    assert_eq!(places(&large, parts(0.0, 8_192.0)), 0, "all of it is given away");
    assert_eq!(places(&own("slot1@a", 1.0), parts(4.0, 8_192.0)), 4);
}
