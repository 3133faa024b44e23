use super::*;
use crate::trace::{Format, parse};

fn written(records: &[Record<'_>]) -> String {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

const READ: Record<'static> = Record {
    arrival: Nanos(81_250),
    end: Nanos(20_093_127),
    class: Class::Foreground,
    bytes: 4_096,
    device: "vda",
};

#[test]
fn what_is_written_is_read_back() {
    let flush = Record { class: Class::Background, bytes: 0, device: "nvme0n1", ..READ };
    let text = written(&[READ, flush]);
    assert!(text.starts_with("# lull-recording 1\n"), "{text}");
    let lines: Vec<_> = text.lines().enumerate().filter_map(|(i, l)| parse_line(i + 1, l).unwrap()).collect();
    assert_eq!(lines, [READ, flush]);
    let trace = parse(&text).unwrap();
    assert_eq!((trace.format, trace.requests.len(), trace.devices.len()), (Format::Recording, 2, 2));
}

#[test]
fn a_note_is_skipped_by_the_reader_whatever_it_says() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.write(&READ).unwrap();
    writer.note("dropped 3\n1 2 f 3 vda").unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert!(text.contains("# dropped 3"), "{text}");
    assert_eq!(parse(&text).unwrap().requests.len(), 1);
}

#[test]
fn a_device_name_that_could_not_be_read_back_is_refused() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for device in ["", "a b", "a\n1 2 f 3 b"] {
        assert!(writer.write(&Record { device, ..READ }).is_err(), "{device:?}");
    }
}

#[test]
fn each_fault_is_told_with_line_and_text() {
    for (line, problem) in [
        ("5", "end_ns is missing"),
        ("5 x f 1 vda", "end_ns is 'x'"),
        ("5 6 g 1 vda", "class is 'g'"),
        ("5 6 f 1", "device is missing"),
        ("5 6 f 1 vda 9", "'9' follows"),
        ("7 6 f 1 vda", "ends before"),
    ] {
        let error = parse(&format!("# lull-recording 1\n\n{line}\n")).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains(line) && error.contains(problem), "{error}");
    }
    let error = parse("# lull-recording 2\n1 2 f 3 vda\n").unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("version 1"), "{error}");
}
