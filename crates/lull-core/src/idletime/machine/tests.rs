use std::collections::HashSet;

use super::*;
use Event::{Background as b, Empty as i, Foreground as f, Timeout as t};
use State::{Background as B, Foreground as F, Idle as I, Interval as P};

/// A state, an event, and the next state with whether the head is consumed.
type Row = (State, Event, Option<(State, bool)>);

/// I-1 to I-3 written out: what all variants share, then what each adds.
const COMMON: [Row; 14] = [
    (I, f, Some((F, true))),
    (I, b, Some((B, true))),
    (I, t, None),
    (I, i, Some((I, false))),
    (F, f, Some((F, true))),
    (F, b, Some((P, false))),
    (F, t, None),
    (F, i, Some((P, false))),
    (B, f, Some((F, true))),
    (B, t, None),
    (P, f, Some((F, true))),
    (P, b, Some((P, false))),
    (P, t, Some((I, false))),
    (P, i, Some((P, false))),
];

const PER_VARIANT: [(&str, [Row; 2]); 4] = [
    ("bb-bi", [(B, b, Some((B, true))), (B, i, Some((I, false)))]),
    ("bb-bp", [(B, b, Some((B, true))), (B, i, Some((P, false)))]),
    ("bp-bi", [(B, b, Some((P, false))), (B, i, Some((I, false)))]),
    ("bp-bp", [(B, b, Some((P, false))), (B, i, Some((P, false)))]),
];

#[test]
fn every_state_event_and_variant_matches_the_requirements() {
    for (name, own) in PER_VARIANT {
        let variant: Variant = name.parse().unwrap();
        let table: Vec<_> = COMMON.into_iter().chain(own).collect();
        assert_eq!(table.len(), 16);
        assert_eq!(table.iter().map(|(s, e, _)| (*s, *e)).collect::<HashSet<_>>().len(), 16);
        for (state, event, expected) in table {
            let edge = transition(state, event, variant).map(|edge| (edge.next, edge.consumes));
            assert_eq!(edge, expected, "{} on {} in {name}", state.letter(), event.letter());
        }
    }
}

#[test]
fn every_path_from_f_to_b_passes_p_and_nothing_enters_p_from_i() {
    for variant in Variant::ALL {
        let next =
            |state| Event::ALL.into_iter().filter_map(move |e| transition(state, e, variant)).map(|e| e.next);
        let mut reached = HashSet::from([F]);
        let mut open = vec![F];
        while let Some(state) = open.pop() {
            open.extend(next(state).filter(|to| *to != P && reached.insert(*to)));
        }
        assert!(!reached.contains(&B), "{variant}: F reaches B around P");
        assert!(next(I).all(|to| to != P), "{variant}: I enters P");
        assert!(next(P).any(|to| to == I), "{variant}: P is left");
    }
}

#[test]
fn foreground_never_waits_and_background_enters_service_only_from_i_or_b() {
    for variant in Variant::ALL {
        for state in State::ALL {
            assert_eq!(transition(state, f, variant), Some(Edge { next: F, consumes: true }));
            let starts = transition(state, b, variant).is_some_and(|edge| edge.consumes);
            assert!(!starts || state.admits_background());
        }
    }
}

#[test]
fn names_round_trip_and_unknown_ones_are_refused_with_the_choices() {
    assert_eq!(Variant::default().name(), "bb-bi");
    assert_eq!(StartRule::default().name(), "completion");
    for variant in Variant::ALL {
        let json = serde_json::to_string(&variant).unwrap();
        assert_eq!(json, format!("\"{variant}\""));
        assert_eq!(serde_json::from_str::<Variant>(&json).unwrap(), variant);
    }
    for rule in StartRule::ALL {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    let error = "bi-bb".parse::<Variant>().unwrap_err().to_string();
    assert_eq!(error, "'bi-bb' is not a variant; choose one of bb-bi, bb-bp, bp-bi, bp-bp");
    let error = "start".parse::<StartRule>().unwrap_err().to_string();
    assert!(error.contains("'start'") && error.contains("completion, request"), "{error}");
}

#[test]
fn indices_and_letters_are_distinct() {
    for (index, state) in State::ALL.into_iter().enumerate() {
        assert_eq!(state.index(), index);
    }
    for (index, event) in Event::ALL.into_iter().enumerate() {
        assert_eq!(event.index(), index);
    }
    assert_eq!(State::ALL.map(State::letter), ['I', 'F', 'B', 'P']);
    assert_eq!(Event::ALL.map(Event::letter), ['f', 'b', 't', 'i']);
}

#[test]
fn counters_name_preemptions_and_what_the_interval_kept_free() {
    let mut counters = Counters::default();
    counters.add(B, f, 2);
    counters.add(P, f, 3);
    counters.add(P, f, u64::MAX);
    assert_eq!(counters.preemptions(), 2);
    assert_eq!(counters.kept_free(), u64::MAX, "saturates");
    assert_eq!(counters.get(I, f), 0);
}
