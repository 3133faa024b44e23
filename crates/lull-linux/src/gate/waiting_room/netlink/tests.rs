use super::*;

#[test]
fn attributes_are_padded_and_lengths_count_what_they_hold() {
    let mut message = Message::new(libc::RTM_NEWQDISC, 0);
    message.nested(TCA_OPTIONS, |message| message.attribute(7, &[1, 2, 3, 4, 5]));
    let bytes = message.finish(7);
    let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    // Header, outer header, inner header, five bytes, three of padding.
    assert_eq!(bytes.len(), 16 + 4 + 4 + 8);
    assert_eq!(usize::from(half(0)), bytes.len());
    assert_eq!((half(16), half(18)), (16, TCA_OPTIONS));
    assert_eq!((half(20), half(22)), (9, 7));
    assert_eq!(bytes[24..], [1, 2, 3, 4, 5, 0, 0, 0]);
}

#[test]
fn an_attribute_is_found_behind_others_and_a_broken_one_ends_the_search() {
    let mut message = Message(Vec::new());
    message.attribute(TCA_KIND, b"tbf\0x");
    message.attribute(TCA_STATS, &[9; 36]);
    assert_eq!(attribute_of(&message.0, TCA_STATS), Some(&[9; 36][..]));
    assert_eq!(attribute_of(&message.0, TCA_OPTIONS), None);
    assert_eq!(attribute_of(&message.0[..20], TCA_STATS), None);
    assert_eq!(attribute_of(&[0; 8], TCA_STATS), None);
}

#[test]
fn an_answer_to_a_request_that_was_given_up_is_not_taken_for_the_next() {
    let link = |index: u32| {
        let mut message = Message::new(libc::RTM_GETLINK, 0);
        message.bytes(&[0; 4]).word(index).word(0).word(0);
        message
    };
    let netlink = Netlink::open().unwrap();
    // The loopback device is there, and its answer waits.
    netlink.send(link(1)).unwrap();
    let refused = netlink.ask(link(i32::MAX.cast_unsigned())).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::ENODEV));
    assert!(!netlink.ask(link(1)).unwrap().is_empty());
}
