use super::*;
use crate::progress::Progress;

fn args(kind: HogKind) -> HogArgs {
    HogArgs {
        kind,
        hogs: 3,
        memory: Bytes(100_000),
        seconds: None,
        pieces: Some(7),
        progress: None,
        leash: false,
        json: true,
    }
}

#[test]
fn hogs_share_the_pieces_and_count_each() {
    for kind in [HogKind::Memory, HogKind::Integer] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress");
        let progress = Progress::create(&path).unwrap();
        let report = run(&HogArgs { progress: Some(path), ..args(kind) }).unwrap();
        assert_eq!((report.requests, report.bytes), (7, 7 * PIECE), "{kind:?}");
        assert_eq!((progress.requests(), progress.bytes()), (7, 7 * PIECE));
        assert!(report.cpu_ns.unwrap() > 0);
    }
}

#[test]
fn a_stream_passes_every_word_equally_often() {
    let mut stream = Stream::new(10);
    stream.run(8 * 25);
    assert_eq!(stream.words, [4, 4, 4, 4, 4, 3, 3, 3, 3, 3]);
    assert_eq!(stream.next, 5);
    stream.run(8 * 5);
    assert_eq!((stream.words.as_slice(), stream.next), ([4; 10].as_slice(), 0));
}

#[test]
fn a_chain_goes_on_where_it_stopped() {
    let (mut once, mut twice) = (Chain(1), Chain(1));
    once.run(1_000);
    twice.run(400);
    twice.run(600);
    assert_eq!(once.0, twice.0);
    assert_ne!(once.0, 1);
}

#[test]
fn memory_for_no_word_is_refused() {
    let error = run(&HogArgs { memory: Bytes(7), ..args(HogKind::Memory) }).unwrap_err().to_string();
    assert!(error.contains("--memory 7B"), "{error}");
}

#[test]
fn a_spinning_foreground_is_busy_all_the_time() {
    let shift = ShiftArgs { warmup: Nanos::from_millis(5), seconds: Some(0.1), json: true };
    let report = spin(&SpinArgs { shift, beats: BeatArgs { beat: Nanos::ZERO }, threads: 2 }).unwrap();
    assert!(report.requests >= 2, "{report:?}");
    // Pieces follow each other without a gap; the first of each thread may be cut by the end of the warm-up.
    assert!(report.busy_ns >= report.latency.unwrap().max_ns);
    assert_eq!(report.ended_ns - report.started_ns, 100_000_000);
}
