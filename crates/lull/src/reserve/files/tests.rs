//! Numbers and files belong together.

use super::*;

#[test]
fn numbers_are_told_apart_and_mean_the_same_file() {
    let id = Id(u32::MAX);
    let nodes = [
        Top,
        Log,
        Status,
        Procs,
        Myself,
        Process(7),
        Rdom(7),
        Crdom(7),
        Enter(7),
        Descriptors(7),
        Descriptor(7, 0),
        Descriptor(4_194_304, u32::MAX),
        Threads(7),
        Thread(7, 8),
        MyThread,
        Dir(255, id),
        Share(0, Id(0)),
        NewReserv(0, id),
        NewQueue(1, id),
        Backlog(1, id),
        Collect(1, id),
        Input(1, id),
    ];
    let mut seen = std::collections::HashSet::new();
    for node in nodes {
        assert!(seen.insert(node.number()), "{node:?}");
        assert_eq!(Node::of(node.number()), Some(node));
    }
    for strange in [0, 1 | 1 << 32, 2 | 3 << 5, 11 | 256 << 5, 31, u64::MAX] {
        assert_eq!(Node::of(strange), None, "{strange}");
    }
}
