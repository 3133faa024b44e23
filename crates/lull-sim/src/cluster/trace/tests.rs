//! What is read, and what is said of what cannot be.

use super::*;

const GAP: Nanos = Nanos::from_secs(600);

fn bad(text: &str) -> Vec<(u64, String)> {
    match owners(text.as_bytes(), GAP) {
        Err(TraceError::Lines(lines)) => lines.into_iter().map(|line| (line.line, line.problem)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_csv_with_and_without_its_head() {
    let body = "a,100,0.25,0.5,1\nb,130,0,0.1,0\na,160,1,0.5,true\n";
    let trace = owners(body.as_bytes(), GAP).unwrap();
    assert_eq!(trace.names, ["a", "b"]);
    assert_eq!(trace.replay.nodes[0][0], Sample { at: Nanos::ZERO, load: 0.25, memory: 0.5, in_use: true });
    assert_eq!(trace.replay.nodes[1][0].at, Nanos::from_secs(30));
    assert_eq!(trace.replay.length, Nanos::from_secs(120), "the last sample lasts as long as the others");
    let with_head = format!("# of last week\nnode,time,cpu,mem,owner_active\n\n{body}");
    assert_eq!(owners(with_head.as_bytes(), GAP).unwrap(), trace);
}

#[test]
fn a_trace_of_one_moment_is_none() {
    let one = owners("a,5,0.1,0.1,1\nb,5,0.1,0.1,0\n".as_bytes(), GAP);
    assert!(matches!(one, Err(TraceError::Nothing(why)) if why.contains("several moments")), "{one:?}");
}

#[test]
fn columns_in_another_order_are_told_once() {
    let found = bad("time,node,cpu,mem,owner_active\n0,a,0.1,0.1,1\n60,a,0.1,0.1,1\n");
    assert!(matches!(&found[..], [(1, why)] if why.contains("another order")), "{found:?}");
}

#[test]
fn every_bad_line_is_named_with_what_to_do() {
    let text = "node,time,cpu,mem,owner_active\na,0,0.1,0.1,1\na,-5,0.1,0.1,1\na,x,0.1,0.1,1\na,10,12,0.1,1\na,20,0.1\n,30,0.1,0.1,0\n\
                a,40,0.1,0.1,maybe\na,50,0.1,nan,1\na,60,0.1,0.1,1\na,55,0.1,0.1,1\n";
    let found = bad(text);
    let expected = [
        (3, "negative"),
        (4, "not a number"),
        (5, "12% is 0.12"),
        (6, "3 fields"),
        (7, "no name"),
        (8, "0 or 1"),
        (9, "0 to 1"),
        (11, "sort the file"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((line, problem), (at, word)) in found.iter().zip(expected) {
        assert_eq!(*line, at);
        assert!(problem.contains(word), "{line}: {problem}");
    }
    let error = owners(text.as_bytes(), GAP).unwrap_err().to_string();
    assert!(error.starts_with("line 3: 'a,-5,0.1,0.1,1': the time -5 is negative"), "{error}");
    assert!(matches!(owners("".as_bytes(), GAP), Err(TraceError::Nothing(_))));
}

#[test]
fn where_nothing_is_known_for_long_the_owner_has_everything() {
    let trace =
        owners("a,0,0,0,0\nb,0,0,0,0\nb,2000,0,0,0\na,4000,0,0,0\nb,4000,0,0,0\n".as_bytes(), GAP).unwrap();
    let a = &trace.replay.nodes[0];
    assert_eq!(a[1], Sample { at: GAP, load: 1.0, memory: 1.0, in_use: true });
    assert_eq!(a[2].at, Nanos::from_secs(4_000));
    assert!(trace.gaps >= 3, "{}", trace.gaps);
    for samples in &trace.replay.nodes {
        assert!(samples.is_sorted_by(|a, b| a.at < b.at));
        assert!(samples.last().unwrap().at < trace.replay.length);
    }
}

const STATUS: &str = r#"
Machine = "one"
Name = "slot1@one"
State = "Unclaimed"
MyCurrentTime = 1000
TotalLoadAvg = 2.5
TotalCondorLoadAvg = 1.5
TotalCpus = 4
KeyboardIdle = 12

Machine = "one"
Name = "slot2@one"
MyCurrentTime = 1000
TotalLoadAvg = 2.5
TotalCpus = 4
KeyboardIdle = 12

Machine = "two"
State = "Owner"
MyCurrentTime = 1000
LoadAvg = 0.0

Machine = "one"
MyCurrentTime = 1060
TotalLoadAvg = 0.1
TotalCpus = 4
KeyboardIdle = 90000
"#;

#[test]
fn machines_of_condor_status() {
    let trace = owners(STATUS.as_bytes(), GAP).unwrap();
    assert_eq!(trace.names, ["one", "two"]);
    let one = &trace.replay.nodes[0];
    assert_eq!(one.len(), 2, "slots of a machine are one owner");
    assert_eq!((one[0].load, one[0].in_use), (0.25, true));
    assert!(!one[1].in_use);
    assert!(trace.replay.nodes[1][0].in_use);
    let broken = STATUS.replace("LoadAvg = 0.0", "LoadAvg = much") + "\nName  OpSys  Arch\n";
    let found = bad(&broken);
    assert!(found[0].1.contains("condor_status -long"), "{found:?}");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].0, 18, "the line on which the ad begins");
}

#[test]
fn jobs_of_condor_history() {
    let text = "QDate = 5000\nRemoteUserCpu = 600.0\nRemoteSysCpu = 1.5\nJobStatus = 4\nLastRemoteHost = \"slot1@one\"\n\n\
                QDate = 4000\nRemoteUserCpu = 60.0\nJobStatus = 4\n\nQDate = 4100\nRemoteUserCpu = 9.0\nJobStatus = 3\n";
    let found = guests(text.as_bytes()).unwrap();
    assert_eq!(found.work, [Nanos::from_secs(60), Nanos::from_millis(601_500)]);
    assert_eq!(found.arrivals, [Nanos::ZERO, Nanos::from_secs(1_000)]);
    assert_eq!((found.left_out, &found.hosts[..]), (1, &["one".to_owned()][..]));
    let error = guests("QDate = 1\n".as_bytes()).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("RemoteUserCpu"), "{error}");
}
