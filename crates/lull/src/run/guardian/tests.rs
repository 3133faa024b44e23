#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;

use lull_core::Nanos;

use super::*;

/// A guardian of a job without a group or a filter, and the front's end of its channel.
fn guardian() -> (Channel, Guardian) {
    let (front, channel) = Channel::pair().unwrap();
    let guardian = Guardian {
        channel,
        listener: None,
        awaits_listener: true,
        shared: Arc::new(Shared::new().unwrap()),
        group: None,
        leftover: Leftover { aim: None, born: Nanos::ZERO },
        queues: Queues::default(),
        supervisor: None,
        terminal: None,
    };
    (front, guardian)
}

fn say(front: &Channel, message: &ToGuardian) {
    front.send(&serde_json::to_vec(message).unwrap(), None).unwrap();
}

/// Something that is read from, and what is written into it.
fn terminal() -> (std::io::PipeReader, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader, writer.into())
}

#[test]
fn a_guardian_of_nothing_ends_with_the_front() {
    let (front, guardian) = guardian();
    drop(front);
    guardian.run();
}

#[test]
fn it_answers_the_front_that_waits_for_it_and_stays_while_that_has_something_to_say() {
    let (front, guardian) = guardian();
    let thread = std::thread::spawn(move || guardian.run());
    say(&front, &ToGuardian::NoListener);
    assert!(matches!(front.receive(false), Ok(Packet::Message(bytes, None)) if bytes == b"k"));
    // The supervisor is dead, and there is nobody to relieve.
    thread.join().unwrap();
}

#[test]
fn the_terminal_of_a_front_that_was_killed_is_put_in_order() {
    let (front, mut guardian) = guardian();
    let (mut reader, writer) = terminal();
    guardian.terminal = Some((writer, "wiped".to_owned()));
    drop(front);
    guardian.run();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "wiped");
}

#[test]
fn that_of_one_that_ends_as_it_should_is_left_alone() {
    let (front, mut guardian) = guardian();
    let (mut reader, writer) = terminal();
    guardian.terminal = Some((writer, "wiped".to_owned()));
    say(&front, &ToGuardian::Bye);
    drop(front);
    guardian.run();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}
