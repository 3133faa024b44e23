#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn pair() -> (Channel, FrontChannel) {
    let (front, ours) = Channel::pair().unwrap();
    (front, FrontChannel::new(ours, vec!["from before".to_owned()]))
}

fn say(front: &Channel, message: &ToSupervisor) {
    front.send(&serde_json::to_vec(message).unwrap(), None).unwrap();
}

#[test]
fn what_is_to_be_told_now_is_told_and_all_is_kept_for_the_end() {
    let (front, mut channel) = pair();
    let news = |kind: fn(String) -> News, text: &str| kind(text.to_owned());
    channel.take_in(vec![news(News::Note, "a"), news(News::Unmet, "b"), news(News::Told, "c")]);
    assert_eq!(channel.notes, ["from before", "a", "c"]);
    assert_eq!(channel.unmet, ["b"]);
    let Ok(Packet::Message(bytes, None)) = front.receive(true) else { panic!("nothing was told") };
    assert!(matches!(serde_json::from_slice(&bytes), Ok(FromSupervisor::Told(text)) if text == "c"));
    assert!(matches!(front.receive(true), Ok(Packet::Nothing)));
}

#[test]
fn the_front_is_heard_until_it_is_gone() {
    let (front, channel) = pair();
    assert!(matches!(channel.hear(), Ok(None)));
    say(&front, &ToSupervisor::Begun);
    front.send(b"nonsense", None).unwrap();
    say(&front, &ToSupervisor::JobEnded);
    assert!(matches!(channel.hear(), Ok(Some(ToSupervisor::Begun))));
    assert!(matches!(channel.hear(), Ok(Some(ToSupervisor::JobEnded))));
    drop(front);
    assert!(channel.hear().is_err());
}

#[test]
fn a_job_without_a_listener_is_told_why() {
    let (front, mut channel) = pair();
    say(&front, &ToSupervisor::NoListener(Some("an outer lull".to_owned())));
    assert!(matches!(channel.wait_for_listener(), Some(None)));
    assert_eq!(channel.notes, ["from before", "an outer lull"]);
    drop(front);
    assert!(channel.wait_for_listener().is_none(), "the front is gone before the job began");
}
