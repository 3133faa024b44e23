//! What may be named, and how the kernel side is told.

use super::{ADDRESSES_AT, MARKS_AT, PORTS_AT, PacketMark, PortRange, Tags};

#[test]
fn ports_are_one_or_a_range() {
    assert_eq!("873".parse(), Ok(PortRange { first: 873, last: 873 }));
    assert_eq!("6881-6889".parse(), Ok(PortRange { first: 6881, last: 6889 }));
    assert_eq!("1-65535".parse(), Ok(PortRange { first: 1, last: 65535 }));
    for wrong in ["", "0", "rsync", "9-3", "1-", "-9", "65536", "1-2-3", "0-10", " 1"] {
        let error = wrong.parse::<PortRange>().unwrap_err();
        assert!(error.contains(wrong) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn marks_have_a_value_and_the_bits_that_count() {
    assert_eq!("16".parse(), Ok(PacketMark { value: 16, mask: u32::MAX }));
    assert_eq!("0x10/0xff".parse(), Ok(PacketMark { value: 16, mask: 255 }));
    assert_eq!("0xFFFFFFFF".parse(), Ok(PacketMark { value: u32::MAX, mask: u32::MAX }));
    for wrong in ["", "0", "0x0/0xff", "0x100/0xff", "red", "1/", "/1", "0x1g", "-1", "4294967296"] {
        let error = wrong.parse::<PacketMark>().unwrap_err();
        assert!(error.contains(wrong) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn the_record_holds_each_kind_at_its_place() {
    let tags = Tags {
        ports: vec!["873".parse().unwrap(), "6881-6889".parse().unwrap()],
        addresses: vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()],
        marks: vec!["0x10/0xff".parse().unwrap()],
        answers: Some("/group".into()),
        ..Tags::default()
    };
    let record = tags.record();
    let word = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().unwrap());
    let half = |at: usize| u16::from_ne_bytes(record[at..at + 2].try_into().unwrap());
    assert_eq!([word(0), word(4), word(8), word(12)], [2, 2, 1, 1]);
    assert_eq!([half(PORTS_AT), half(PORTS_AT + 2)], [873, 873]);
    assert_eq!([half(PORTS_AT + 4), half(PORTS_AT + 6)], [6881, 6889]);
    let v4 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7];
    assert_eq!(record[ADDRESSES_AT..ADDRESSES_AT + 16], v4);
    assert_eq!(record[ADDRESSES_AT + 16..ADDRESSES_AT + 18], [0xfd, 0]);
    assert_eq!([word(MARKS_AT), word(MARKS_AT + 4)], [16, 255]);
    assert!(record[MARKS_AT + 8..].iter().all(|byte| *byte == 0));
}

#[test]
fn an_answer_names_no_packets() {
    let answers = Tags { answers: Some("/group".into()), ..Tags::default() };
    assert!(!answers.is_empty() && !answers.names_packets());
    assert!(Tags::default().is_empty());
}
