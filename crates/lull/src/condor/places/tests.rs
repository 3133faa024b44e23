use super::*;

fn free(machine: &str, share: f64) -> Other {
    Other { machine: machine.to_owned(), wants: false, owner_since_s: 0.0, share }
}

fn mover(machine: &str, owner_since_s: f64) -> Other {
    Other { machine: machine.to_owned(), wants: true, owner_since_s, share: 0.1 }
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
    let of = |machine, since| claim(machine, since, &others);
    assert_eq!(of("a", 100.0), Elsewhere { places: 2, share: 1.0 });
    assert_eq!(of("b", 200.0), Elsewhere { places: 1, share: 0.9 });
    assert_eq!(of("c", 200.0), Elsewhere::UNKNOWN);
    assert_eq!(of("d", 300.0), Elsewhere::UNKNOWN);
    // One of which the collector does not know yet.
    assert_eq!(of("new", 50.0).places, 2);
}

#[test]
fn the_own_node_is_nowhere_else() {
    assert_eq!(claim("a", 1.0, &[free("a", 1.0)]), Elsewhere::UNKNOWN);
    assert_eq!(claim("a", 1.0, &[]), Elsewhere::UNKNOWN);
}
