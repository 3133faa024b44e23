use super::*;
use crate::root::Root;

#[test]
fn the_trial_agrees_with_what_the_kernel_says_it_knows() {
    let facts = SeccompFacts::read(&Kernel::read(&Root::real()));
    if facts.listener.works() {
        assert!(facts.user_notification.works());
        let (notification, response, data) = facts.sizes_bytes.unwrap();
        assert!(notification >= 80 && response >= 24 && data >= 64);
    } else {
        eprintln!("SKIPPED: no listener can be installed here: {}", facts.listener);
    }
}

#[test]
fn the_trial_leaves_this_process_without_a_filter() {
    let mode = || {
        let status = Root::real().read("/proc/self/status").unwrap();
        crate::proc::field(&status, "Seccomp_filters").map(str::to_owned)
    };
    let before = mode();
    SeccompFacts::read(&Kernel::default());
    assert_eq!(mode(), before);
}

#[test]
fn a_kernel_that_cannot_continue_calls_is_not_usable() {
    let mut facts = SeccompFacts::read(&Kernel { version: (5, 4), ..Kernel::default() });
    facts.listener = Attempt::Works;
    assert!(!facts.usable());
    facts.can_continue = true;
    assert!(facts.usable());
}
