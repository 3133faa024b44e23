//! Trees under any sequence of operations, the texts of their files, and who gets what.

use proptest::prelude::*;

use super::apportion::divide;
use super::*;

const CPUS: Whole = Whole { amount: 2 * unit::CPU, unit: Unit::Cpu };
const MEMORY: Whole = Whole { amount: 25_241_378_816, unit: Unit::Bytes };
const LINK: Whole = Whole { amount: 1_250_000, unit: Unit::Rate };
const DISK: Whole = Whole { amount: 1_000_000, unit: Unit::Part };

fn tree() -> Tree {
    Tree::new("cpu", CPUS, 0)
}

fn terms(text: &str) -> Terms {
    Terms::parse(text, CPUS).unwrap()
}

/// A child with these terms.
fn child(tree: &mut Tree, parent: Id, kind: Kind, text: &str) -> Id {
    let id = tree.create(parent, kind, 0).unwrap();
    tree.set(id, terms(text)).unwrap();
    id
}

#[test]
fn children_are_numbered_by_kind_and_begin_with_nothing() {
    let mut tree = tree();
    let first = tree.create(ROOT, Kind::Internal, 7).unwrap();
    let queue = tree.create(first, Kind::Queue, 7).unwrap();
    tree.create(ROOT, Kind::Internal, 0).unwrap();
    assert_eq!(tree.full_path(queue), "cpu/r0/q0");
    assert_eq!(tree.find("r0/q0"), Some(queue));
    assert_eq!(tree.find(""), Some(ROOT));
    assert_eq!((tree.find("r1/q0"), tree.find("q0")), (None, None));
    assert_eq!(tree.get(queue).unwrap().terms, Terms { minimum: 0, weight: 0 });
    assert_eq!(tree.get(ROOT).unwrap().terms, Terms { minimum: 2 * unit::CPU, weight: 100 });
    tree.remove(tree.find("r1").unwrap()).unwrap();
    let third = tree.create(ROOT, Kind::Internal, 0).unwrap();
    assert_eq!(tree.path(third), "r2", "a name that is gone means nobody");
    assert!(matches!(tree.create(queue, Kind::Queue, 0), Err(Refusal::IsQueue(path)) if path == "cpu/r0/q0"));
    assert!(matches!(tree.create_named(ROOT, "r0", 0), Err(Refusal::Exists(_))));
    for bad in ["r", "q-1", "r01", "r+1", "x3", "share", "r4294967295", "r99999999999"] {
        assert!(matches!(tree.create_named(ROOT, bad, 0), Err(Refusal::BadName(_))), "{bad}");
    }
}

#[test]
fn admission_names_the_sum_that_is_exceeded() {
    let mut tree = tree();
    let first = child(&mut tree, ROOT, Kind::Internal, "50% 1");
    let second = child(&mut tree, ROOT, Kind::Internal, "50% 1");
    let third = tree.create(ROOT, Kind::Internal, 0).unwrap();
    let told = tree.set(third, terms("0.2cpu 1")).unwrap_err().to_string();
    assert_eq!(
        told,
        "the minima of the children of cpu would be 2.2cpu together, and its own minimum is 2cpu: ask for 0cpu at \
         most, or raise cpu first"
    );
    assert_eq!(tree.get(third).unwrap().terms, Terms::default(), "a refused write changes nothing");
    let mut disk = Tree::new("vda", DISK, 0);
    let id = child(&mut disk, ROOT, Kind::Internal, "0% 1");
    let told = disk.set(id, Terms { minimum: 1_200_000, weight: 1 }).unwrap_err().to_string();
    assert!(told.contains("ask for 100% at most") && !told.contains("ppm"), "{told}");
    tree.set(second, terms("40% 1")).unwrap();
    tree.set(third, terms("10% 1")).unwrap();
    // A child may have what its parent has, and the parent must then keep it.
    let below = child(&mut tree, first, Kind::Queue, "1cpu 1");
    assert!(
        matches!(tree.set(below, terms("1.000001cpu 1")), Err(Refusal::Exceeds { free, .. }) if free == "1cpu")
    );
    assert!(
        matches!(tree.set(first, terms("20% 1")), Err(Refusal::Promised { promised, .. }) if promised == "1cpu")
    );
    assert_eq!(tree.set(ROOT, terms("20% 1")), Err(Refusal::Fixed));
    assert_eq!(tree.unpromised(first), 0);
    tree.remove(below).unwrap();
    assert_eq!(tree.unpromised(first), unit::CPU);
}

#[test]
fn the_papers_formula_among_the_busy() {
    let mut tree = tree();
    let first = child(&mut tree, ROOT, Kind::Internal, "0% 3");
    let heavy = child(&mut tree, first, Kind::Queue, "0% 2");
    let light = child(&mut tree, first, Kind::Queue, "0% 1");
    let other = child(&mut tree, ROOT, Kind::Queue, "0% 1");
    let given = |busy: &[Id]| {
        let all = tree.apportion(|id| busy.contains(&id));
        [ROOT, first, heavy, light, other].map(|id| all.iter().find(|(found, _)| *found == id).unwrap().1)
    };
    assert_eq!(given(&[]), [0; 5]);
    assert_eq!(given(&[heavy, light, other]), [2_000_000, 1_500_000, 1_000_000, 500_000, 500_000]);
    assert_eq!(given(&[light, other]), [2_000_000, 1_500_000, 0, 1_500_000, 500_000]);
    assert_eq!(given(&[heavy, light]), [2_000_000, 2_000_000, 1_333_333, 666_667, 0]);
    assert_eq!(given(&[other]), [2_000_000, 0, 0, 0, 2_000_000]);
}

#[test]
fn nobody_busy_gets_less_than_its_minimum() {
    let one = |minimum, weight| Terms { minimum, weight };
    assert_eq!(divide(100, &[one(50, 0), one(0, 1)]), [50, 50]);
    assert_eq!(divide(100, &[one(50, 1), one(10, 3), one(0, 1)]), [50, 37, 13]);
    assert_eq!(divide(100, &[one(0, 0), one(0, 0)]), [50, 50], "without weights the rest is shared equally");
    assert_eq!(divide(100, &[one(20, 0), one(0, 0), one(0, 5)]), [20, 0, 80]);
    assert_eq!(divide(100, &[]), Vec::<u64>::new());
}

#[test]
fn standing_weights_keep_the_minimum_whoever_is_busy() {
    let mut tree = tree();
    let site = child(&mut tree, ROOT, Kind::Internal, "50% 50");
    let rival = child(&mut tree, ROOT, Kind::Internal, "49% 49");
    let rest = child(&mut tree, ROOT, Kind::Queue, "0% 1");
    let scale = |amount: u64| amount << 20;
    assert_eq!(
        tree.standing(ROOT),
        [(site, scale(1_000_000)), (rival, scale(980_000)), (rest, scale(20_000))]
    );
    assert_eq!(tree.standing(rest), []);
}

#[test]
fn what_has_no_reference_goes_unless_its_flag_is_cleared() {
    let mut tree = tree();
    let parent = tree.create(ROOT, Kind::Internal, 0).unwrap();
    let queue = tree.create(parent, Kind::Queue, 0).unwrap();
    let kept = tree.create(ROOT, Kind::Queue, 0).unwrap();
    tree.set_collect(kept, false).unwrap();
    assert!(tree.refer(queue) && tree.refer(queue));
    tree.forget(queue);
    assert_eq!(tree.collectable().count(), 0);
    tree.forget(queue);
    assert_eq!(tree.collectable().collect::<Vec<_>>(), [queue]);
    assert!(matches!(tree.remove(parent), Err(Refusal::HasChildren(_))));
    tree.remove(queue).unwrap();
    assert_eq!(tree.collectable().collect::<Vec<_>>(), [parent]);
    assert!(!tree.refer(queue));
    assert_eq!(
        (tree.set_collect(ROOT, true), tree.remove(ROOT).map(|_| ())),
        (Err(Refusal::Fixed), Err(Refusal::Fixed))
    );
}

#[test]
fn rights_follow_the_domain_and_then_the_owner() {
    let mut tree = tree();
    let alices = tree.create(ROOT, Kind::Internal, 0).unwrap();
    tree.give(alices, 1000).unwrap();
    let below = tree.create(alices, Kind::Internal, 0).unwrap();
    let bobs = tree.create(ROOT, Kind::Internal, 1001).unwrap();
    let may = |user, root, id| tree.may_use(Rights { user, root }, id);
    assert!(may(1000, ROOT, alices).is_ok() && may(1000, ROOT, below).is_ok());
    assert!(matches!(may(1000, ROOT, bobs), Err(Denied::OtherUser { owner: 1001, user: 1000, .. })));
    assert!(matches!(may(1000, ROOT, ROOT), Err(Denied::OtherUser { owner: 0, .. })));
    assert!(may(0, ROOT, ROOT).is_ok() && may(0, ROOT, bobs).is_ok());
    // Within a domain its processes are the masters, whoever they are, and nothing outside is theirs.
    assert!(may(33, alices, alices).is_ok() && may(33, alices, below).is_ok());
    assert!(matches!(may(33, below, alices), Err(Denied::OtherDomain { .. })));
    assert!(matches!(may(0, alices, bobs), Err(Denied::OtherDomain { .. })));
}

#[test]
fn shares_are_read_and_told_in_both_forms() {
    for (text, whole, told) in [
        ("20% 3", CPUS, "20% 3 # 0.4cpu"),
        (" 0.4cpu\t3\n", CPUS, "20% 3 # 0.4cpu"),
        ("1cpu 0 # a note", CPUS, "50% 0 # 1cpu"),
        ("0.0000011cpu 1", CPUS, "0.000001cpu 1 # 0%"),
        ("0% 0", CPUS, "0% 0 # 0cpu"),
        ("512MiB 7", MEMORY, "512MiB 7 # 2.1269%"),
        ("20% 7", MEMORY, "20% 7 # 5048275763B"),
        ("100kB/s 1", LINK, "8% 1 # 100000B/s"),
    ] {
        let terms = Terms::parse(text, whole).unwrap();
        assert_eq!(terms.show(whole), told, "{text}");
    }
    for (text, whole, why) in [
        ("", CPUS, "lacks a value"),
        ("20%", CPUS, "lacks a value"),
        ("20% 3 4", CPUS, "one value too many"),
        ("-1cpu 3", CPUS, "less than zero"),
        ("20% -3", CPUS, "less than zero"),
        ("101% 3", CPUS, "more than the whole"),
        ("20 3", CPUS, "no unit of this resource"),
        ("20% 1000001", CPUS, "not a whole number"),
        ("20% 1.5", CPUS, "not a whole number"),
        ("20% +3", CPUS, "not a whole number"),
        ("99999999999999999999cpu 3", CPUS, "too large"),
        ("100 3", MEMORY, "no unit"),
        ("1cpu 3", MEMORY, "not a size"),
        ("10MB 3", LINK, "no unit"),
    ] {
        let told = Terms::parse(text, whole).unwrap_err().to_string();
        assert!(told.contains(why) && told.contains("like '20% 3'"), "{text}: {told}");
    }
}

#[test]
fn backlogs_are_read() {
    let both = Backlog { requests: Bound::Most(100), service: Bound::Most(400_000) };
    assert_eq!(Backlog::parse("100 20%", CPUS), Ok(both));
    assert_eq!(Backlog::parse("max max # none", CPUS), Ok(Backlog::default()));
    for (text, why) in [
        ("", "two values"),
        ("1", "two values"),
        ("1 2 3", "two values"),
        ("0 max", "from 1 on"),
        ("-1 max", "from 1 on"),
        ("1 2", "no unit"),
    ] {
        let told = Backlog::parse(text, CPUS).unwrap_err().to_string();
        assert!(told.contains(why), "{text}: {told}");
    }
}

/// One operation of anybody.
#[derive(Clone, Debug)]
enum Op {
    Create(usize, bool),
    Named(usize, String),
    Set(usize, u64, u32),
    Remove(usize),
    Refer(usize),
    Forget(usize),
    Collect(usize, bool),
    Sweep,
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0_usize..40;
    prop_oneof![
        4 => (which.clone(), any::<bool>()).prop_map(|(at, queue)| Op::Create(at, queue)),
        1 => (which.clone(), "[rqx][0-9]{0,3}").prop_map(|(at, name)| Op::Named(at, name)),
        4 => (which.clone(), 0..1_200_000_u64, 0..5_u32).prop_map(|(at, m, w)| Op::Set(at, m, w)),
        1 => which.clone().prop_map(Op::Remove),
        2 => which.clone().prop_map(Op::Refer),
        2 => which.clone().prop_map(Op::Forget),
        1 => (which, any::<bool>()).prop_map(|(at, collect)| Op::Collect(at, collect)),
        1 => Just(Op::Sweep),
    ]
}

proptest! {
    #[test]
    fn any_sequence_of_operations_keeps_the_invariants(ops in prop::collection::vec(op(), 0..120)) {
        let mut tree = tree();
        let mut ids = vec![ROOT];
        for op in ops {
            let at = |index: usize| ids[index % ids.len()];
            let before = tree.clone();
            let refused = match op {
                Op::Create(index, queue) => {
                    let kind = if queue { Kind::Queue } else { Kind::Internal };
                    tree.create(at(index), kind, 0).map(|id| ids.push(id))
                }
                Op::Named(index, name) => tree.create_named(at(index), &name, 0).map(|id| ids.push(id)),
                Op::Set(index, minimum, weight) => tree.set(at(index), Terms { minimum, weight }),
                Op::Remove(index) => tree.remove(at(index)).map(|_| ()),
                Op::Refer(index) => { tree.refer(at(index)); Ok(()) }
                Op::Forget(index) => {
                    if tree.get(at(index)).is_some_and(|found| found.references > 0) { tree.forget(at(index)); }
                    Ok(())
                }
                Op::Collect(index, collect) => tree.set_collect(at(index), collect),
                Op::Sweep => {
                    for id in tree.collectable().collect::<Vec<_>>() { tree.remove(id).unwrap(); }
                    Ok(())
                }
            };
            prop_assert_eq!(tree.invariants(), Ok(()));
            if refused.is_err() {
                prop_assert!(tree.iter().eq(before.iter()), "a refused operation changed the tree");
            }
            for id in &ids {
                if tree.get(*id).is_some() {
                    prop_assert_eq!(tree.find(&tree.path(*id)), Some(*id));
                }
            }
        }
        // Whoever is busy: a parent's amount goes to its busy children, each of which has its minimum.
        for busy in [3, 2, 1] {
            let given: BTreeMap<_, _> =
                tree.apportion(|id| id.0 % busy == 0).into_iter().collect();
            for (id, found) in tree.iter() {
                let sum: u64 = found.children.iter().map(|child| given[child]).sum();
                prop_assert!(sum == 0 || sum == given[&id]);
                prop_assert!(given[&id] == 0 || given[&id] >= found.terms.minimum);
            }
        }
        // Weights for the kernel give everybody its minimum of the parent's.
        for (id, found) in tree.iter() {
            for (child, weight) in tree.standing(id) {
                let minimum = u128::from(tree.get(child).unwrap().terms.minimum);
                let all: u128 = tree.standing(id).iter().map(|(_, weight)| u128::from(*weight)).sum();
                prop_assert!(u128::from(weight) * u128::from(found.terms.minimum) >= minimum * all);
            }
        }
    }

    #[test]
    fn division_is_by_weight_where_no_minimum_binds(
        amount in 1_000_000..1_u64 << 40, weights in prop::collection::vec(1..1000_u32, 1..30)
    ) {
        let terms: Vec<_> = weights.iter().map(|weight| Terms { minimum: 0, weight: *weight }).collect();
        let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let given = divide(amount, &terms);
        prop_assert_eq!(given.iter().sum::<u64>(), amount);
        for (weight, given) in weights.iter().zip(given) {
            let exact = u128::from(amount) * u128::from(*weight) / u128::from(sum);
            prop_assert!(u128::from(given).abs_diff(exact) <= 30, "{} instead of {}", given, exact);
        }
    }

    #[test]
    fn what_is_told_is_read_as_the_same(minimum in any::<u64>(), weight in 0..=terms::MOST_WEIGHT, kind in 0..4) {
        let whole = [CPUS, MEMORY, LINK, DISK][usize::try_from(kind).unwrap()];
        let given = Terms { minimum: minimum % (whole.amount + 1), weight };
        prop_assert_eq!(Terms::parse(&given.show(whole), whole), Ok(given));
    }

    #[test]
    fn no_text_makes_the_parsers_fall(text in any::<String>(), close in "[-+0-9.%a-zA-Z#/ \\t\\n]{0,60}") {
        for text in [text, close] {
            for whole in [CPUS, MEMORY, LINK, DISK] {
                if let Ok(terms) = Terms::parse(&text, whole) {
                    prop_assert_eq!(Terms::parse(&terms.show(whole), whole), Ok(terms));
                }
                let _ = Backlog::parse(&text, whole);
            }
            if let Some((kind, number)) = Kind::of_name(&text) {
                prop_assert_eq!(format!("{}{number}", if kind == Kind::Queue { 'q' } else { 'r' }), text);
            }
        }
    }

    #[test]
    fn a_list_of_reservations_is_read_whatever_it_says(
        text in any::<String>(), close in "[/a-z0-9 .%\\n\\t-]{0,80}", mount in "(/[a-z]{1,8}){0,3}"
    ) {
        let mut tree = Tree::new("cpu", CPUS, 0);
        let inner = tree.create(ROOT, Kind::Internal, 0).unwrap();
        let queue = tree.create(inner, Kind::Queue, 0).unwrap();
        for text in [text, close] {
            for (name, below) in domain::listed(&text, &mount) {
                prop_assert!(!name.contains('/') && !name.contains(char::is_whitespace));
                if let Some(found) = tree.find(below) {
                    prop_assert!(tree.get(found).is_some());
                }
            }
            prop_assert_eq!(domain::listed(&text, &mount).count(), text.split_whitespace().count());
        }
        for id in [inner, queue] {
            for top in [mount.as_str(), domain::USUAL_MOUNT] {
                let written = format!("{top}/{}", tree.full_path(id));
                let Some((name, below)) = domain::listed(&written, &mount).next() else { panic!("{written}") };
                prop_assert_eq!((name, tree.find(below)), (if top.is_empty() { "" } else { "cpu" }, if top.is_empty() { None } else { Some(id) }));
            }
        }
    }
}

#[test]
fn ten_thousand_children_have_equal_parts_and_go_again() {
    let mut tree = Tree::new("cpu", CPUS, 0);
    let parent = tree.create(ROOT, Kind::Internal, 0).unwrap();
    tree.set(parent, Terms { minimum: CPUS.amount / 2, weight: 1 }).unwrap();
    let minimum = CPUS.amount / 20_000;
    let children: Vec<Id> = (0..10_000).map(|_| tree.create(parent, Kind::Queue, 0).unwrap()).collect();
    for child in &children {
        tree.set(*child, Terms { minimum, weight: 1 }).unwrap();
    }
    let all = tree.get(parent).unwrap().children.len();
    assert_eq!((all, tree.path(children[9_999]).as_str()), (10_000, "r0/q9999"));
    let one_more = tree.create(parent, Kind::Queue, 0).unwrap();
    assert!(matches!(
        tree.set(one_more, Terms { minimum: CPUS.amount / 2, weight: 1 }),
        Err(Refusal::Exceeds { .. })
    ));
    tree.remove(one_more).unwrap();
    let standing = tree.standing(parent);
    assert!(standing.iter().all(|(_, amount)| *amount == standing[0].1), "the same terms, the same weight");
    for child in children {
        tree.remove(child).unwrap();
    }
    assert_eq!(tree.unpromised(parent), CPUS.amount / 2);
}

#[test]
fn shares_below_zero_beyond_all_or_misspelt_are_refused_with_words() {
    for (text, word) in [
        ("-5% 1", "less than zero"),
        ("5% -1", "less than zero"),
        ("101% 1", "%"),
        ("99999999999999999999cpu 1", "number of CPUs"),
        ("5% 1000001", "whole number"),
        ("5% 99999999999999999999", "whole number"),
        ("5% +1", "whole number"),
        ("5%", "lacks a value"),
        ("", "lacks a value"),
        ("5% 1 1", "too many"),
        ("NaN% 1", "NaN"),
        ("1e9cpu 1", "1e9cpu"),
    ] {
        let refused = Terms::parse(text, CPUS).expect_err(text).to_string();
        assert!(refused.contains(word), "{text}: {refused}");
    }
    let long = format!("5% {}1", "0".repeat(300));
    assert!(Terms::parse(&long, CPUS).unwrap_err().to_string().contains("too many"));
}
