#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

/// A manager that answers every call with these messages.
fn manager(answers: Vec<Vec<u8>>) -> (tempfile::TempDir, std::thread::JoinHandle<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join("private")).unwrap();
    let served = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("\0AUTH EXTERNAL "), "{line:?}");
        (&stream).write_all(b"OK 0123456789abcdef\r\n").unwrap();
        line.clear();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "BEGIN\r\n");
        let mut asked = vec![0; FIXED_BYTES];
        reader.read_exact(&mut asked).unwrap();
        for answer in answers {
            (&stream).write_all(&answer).unwrap();
        }
        asked
    });
    (dir, served)
}

/// An answer as the specification writes it: the header's fields by hand, the body a text.
fn answer(kind: u8, serial: u32, error: Option<&str>, text: &str) -> Vec<u8> {
    let mut fields = vec![REPLY_SERIAL, 1, b'u', 0];
    fields.extend(serial.to_le_bytes());
    if let Some(error) = error {
        fields.extend([ERROR_NAME, 1, b's', 0]);
        fields.extend(u32::try_from(error.len()).unwrap().to_le_bytes());
        fields.extend(error.as_bytes());
        fields.push(0);
        fields.resize(fields.len().next_multiple_of(ALIGNMENT), 0);
    }
    fields.extend([SIGNATURE, 1, b'g', 0, 1, b's', 0]);
    let body = 4 + text.len() + 1;
    let mut bytes = vec![b'l', kind, 1, VERSION];
    for number in [body, 9, fields.len()] {
        bytes.extend(u32::try_from(number).unwrap().to_le_bytes());
    }
    bytes.extend(&fields);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(0);
    bytes
}

#[test]
fn the_answer_to_the_call_is_taken_and_others_are_skipped() {
    let (dir, served) = manager(vec![answer(ANSWER, 7, None, "another's"), answer(ANSWER, 1, None, "done")]);
    let mut bus = Bus::connect(&dir.path().join("private")).unwrap();
    let got: String = bus.call("GetUnit", &("a.scope",)).unwrap().get().unwrap();
    assert_eq!(got, "done");
    let asked = served.join().unwrap();
    assert_eq!((asked[0], asked[1], asked[4]), (b'l', CALL, 4 + 7 + 1), "the length of the body");
}

#[test]
fn a_refusal_has_its_name() {
    let name = "org.freedesktop.systemd1.UnitExists";
    let (dir, _served) = manager(vec![answer(REFUSAL, 1, Some(name), "is there")]);
    let mut bus = Bus::connect(&dir.path().join("private")).unwrap();
    let error = bus.call("StartUnit", &("a.scope",)).unwrap_err();
    assert_eq!(error.to_string(), format!("{name}: is there"));
}

#[test]
fn a_message_has_its_parts_where_the_specification_wants_them() {
    let body = ("a", vec![("Delegate", Value::from(true))]);
    let bytes = message(3, (DESTINATION, "/p", "i.f"), "M", &body).unwrap();
    let fields = usize::from(bytes[12]);
    let header = (FIXED_BYTES + fields).next_multiple_of(ALIGNMENT);
    assert_eq!(bytes.len(), header + usize::from(bytes[4]));
    let data = Data::new(bytes[..header].to_vec(), Context::new_dbus(Endian::Little, 0));
    let ((_, kind, _, _, _, serial, found), _): (Header<'_>, usize) = data.deserialize().unwrap();
    assert_eq!((kind, serial), (CALL, 3));
    assert_eq!(
        found.iter().map(|(code, _)| *code).collect::<Vec<_>>(),
        [PATH, INTERFACE, MEMBER, DESTINED, SIGNATURE]
    );
    let written = bytes[FIXED_BYTES..header].windows(8).any(|part| part == b"\x06sa(sv)\0");
    assert!(written, "the signature has no brackets: {bytes:?}");
}
