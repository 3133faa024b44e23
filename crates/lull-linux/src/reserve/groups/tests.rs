//! Where processes are found.

use super::below;

#[test]
fn the_queue_is_what_stands_below_the_top() {
    let memberships = "9:name=systemd:/\n1:cpu:/a/lull-7-1-2-3/r0/q1\n0::/lull-7-1-2-3/r0/q1\n";
    assert_eq!(below(memberships, "lull-7-1-2-3").as_deref(), Some("r0/q1"));
    assert_eq!(below(memberships, "lull-7-1-2").as_deref(), None);
    assert_eq!(below("0::/lull-7-1-2-3\n", "lull-7-1-2-3").as_deref(), Some(""));
    assert_eq!(below("1:cpu:/\n0::/user.slice\n", "lull-7-1-2-3"), None);
}
