//! Messages and descriptors through a real pair.

use super::{Channel, Packet};
use std::io::Read;
use std::os::fd::AsRawFd;

#[test]
fn messages_descriptors_and_the_end_arrive() {
    let (a, b) = Channel::pair().unwrap();
    assert!(matches!(b.receive(true).unwrap(), Packet::Nothing));
    let (mut reader, writer) = std::io::pipe().unwrap();
    a.send(b"take", Some(writer.as_raw_fd())).unwrap();
    drop(writer);
    let Packet::Message(bytes, Some(fd)) = b.receive(false).unwrap() else { panic!("no descriptor") };
    assert_eq!(bytes, b"take");
    std::io::Write::write_all(&mut std::fs::File::from(fd), b"x").unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "x");
    drop(a);
    assert!(matches!(b.receive(false).unwrap(), Packet::Closed));
    assert!(b.send(b"late", None).is_err());
}
