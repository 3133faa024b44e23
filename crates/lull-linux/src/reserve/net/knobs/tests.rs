use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn what_is_written_down_is_read_again(largest_bytes: Option<u64>, threaded: Option<u64>) {
        let knobs = Knobs { largest_bytes, threaded };
        prop_assert_eq!(Knobs::parse(&knobs.text()), knobs);
    }

    #[test]
    fn anything_else_means_nothing(text: String) {
        prop_assume!(!text.contains(LARGEST) && !text.contains(THREADED));
        prop_assert_eq!(Knobs::parse(&text), Knobs::default());
    }
}

#[test]
fn no_such_interface_has_no_threads() {
    assert!(!is_threaded("no-such-interface"));
}
