#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

use lull_core::MemoryThresholds;

use super::{Answer, Asker, Passed, Request, address, is_trusted, read_line, serve};

fn ask(pid: u32, line: &str) -> Answer {
    let mut stream = UnixStream::connect_addr(&address(pid).unwrap()).unwrap();
    assert!(is_trusted(&stream));
    // One that is refused is answered without being read.
    let _ = stream.write_all(line.as_bytes());
    serde_json::from_str(&read_line(&stream).unwrap()).unwrap()
}

/// Lets go of three.
fn three() -> Asker {
    Box::new(|| Ok(3))
}

#[test]
fn what_is_left_out_stays_and_nonsense_is_refused() {
    let now = MemoryThresholds { low_bytes: 10, high_bytes: 20 };
    let over = |mem_low_bytes, mem_high_bytes| {
        Request { mem_low_bytes, mem_high_bytes, ..Request::default() }.over(now)
    };
    assert_eq!(over(None, Some(30)).unwrap(), MemoryThresholds { low_bytes: 10, high_bytes: 30 });
    assert_eq!(over(Some(0), None).unwrap(), MemoryThresholds { low_bytes: 0, high_bytes: 20 });
    let raised = Request { mem_low_bytes: Some(7), ..Request::default() }.over(MemoryThresholds::default());
    assert_eq!(raised.unwrap(), MemoryThresholds { low_bytes: 7, high_bytes: 7 }, "as at the start");
    assert!(over(Some(21), None).unwrap_err().to_string().contains("above"));
}

#[test]
fn a_run_is_set_through_its_socket() {
    // No process has this number.
    let pid = (1 << 30) | std::process::id();
    let (told, hears) = channel();
    let set = Box::new(move |setting: MemoryThresholds| {
        told.send(setting).unwrap();
        Passed::InForce
    });
    serve(pid, MemoryThresholds::default(), Some(set), three(), || false).unwrap();
    let wanted = MemoryThresholds { low_bytes: 0, high_bytes: 5 };
    assert_eq!(ask(pid, "{\"mem_high_bytes\":5}\n"), Answer::Done(wanted));
    assert_eq!(hears.recv().unwrap(), wanted);
    assert!(matches!(ask(pid, "{\"mem_low_bytes\":9}\n"), Answer::Refused(why) if why.contains("above")));
    assert!(matches!(ask(pid, "{\"nonsense\":9}\n"), Answer::Refused(why) if why.contains("nonsense")));
    assert!(serve(pid, MemoryThresholds::default(), None, three(), || false).is_err(), "the name is taken");
}

#[test]
fn a_run_without_memory_says_so() {
    let pid = (1 << 29) | std::process::id();
    serve(pid, MemoryThresholds::default(), None, three(), || false).unwrap();
    assert!(matches!(ask(pid, "{}\n"), Answer::Refused(why) if why.contains("--resources")));
}

#[test]
fn a_run_whose_job_has_ended_refuses() {
    let pid = (1 << 28) | std::process::id();
    let (told, hears) = channel();
    let set = Box::new(move |setting: MemoryThresholds| {
        told.send(setting).unwrap();
        Passed::InForce
    });
    serve(pid, MemoryThresholds::default(), Some(set), three(), || true).unwrap();
    assert!(
        matches!(ask(pid, "{\"mem_high_bytes\":5}\n"), Answer::Refused(why) if why.contains("has ended"))
    );
    assert!(hears.try_recv().is_err(), "nothing was set");
}

#[test]
fn thresholds_that_wait_are_told_as_such_and_those_that_nobody_takes_are_refused() {
    let pid = (1 << 27) | std::process::id();
    let set = Box::new(|setting: MemoryThresholds| match setting.high_bytes {
        9 => Passed::ToNobody,
        _ => Passed::Waits("it rains".into()),
    });
    serve(pid, MemoryThresholds::default(), Some(set), three(), || false).unwrap();
    let kept = |low_bytes| Answer::Waits(MemoryThresholds { low_bytes, high_bytes: 5 }, "it rains".into());
    assert_eq!(ask(pid, "{\"mem_high_bytes\":5}\n"), kept(0));
    assert!(
        matches!(ask(pid, "{\"mem_high_bytes\":9}\n"), Answer::Refused(why) if why.contains("not managed"))
    );
    assert_eq!(ask(pid, "{\"mem_low_bytes\":1}\n"), kept(1), "what was refused is not kept");
}

#[test]
fn what_is_left_behind_is_let_go_whether_or_not_there_is_memory_to_set() {
    let pid = (1 << 26) | std::process::id();
    serve(pid, MemoryThresholds::default(), None, three(), || false).unwrap();
    assert_eq!(ask(pid, "{\"release\":true}\n"), Answer::Released(3));
}
