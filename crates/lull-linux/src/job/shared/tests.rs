//! Listing and unlisting.

use super::{MAX_WAITING, Shared};

#[test]
fn listed_calls_survive_in_the_list_until_unlisted() {
    let shared = Shared::new().unwrap();
    assert!(shared.list(0) && shared.list(17));
    assert_eq!(shared.unanswered(), [0, 17, 0]);
    shared.unlist(0);
    assert_eq!(shared.unanswered(), [17, 0]);
}

#[test]
fn a_full_table_says_so() {
    let shared = Shared::new().unwrap();
    assert!((0..MAX_WAITING as u64).all(|id| shared.list(id)));
    assert!(!shared.list(9_999));
    shared.unlist(5);
    assert!(shared.list(9_999));
}
